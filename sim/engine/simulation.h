// The simulation of one engine, or of several equal ones behind a balancer: who sends, who decides,
// what a step costs and who watches, tied together by events.
//
//   arrival     a request joins the queue of the replica that the balancer chooses; an idle engine
//               wakes
//   schedule    the host looks at the queue while the GPU has nothing prepared
//   step_start  the GPU runs the prepared step; an overlapping host prepares the next one
//   step_end    results reach scheduler, observers and client; the next step starts or is
//               scheduled
//
// With overlap the host takes up step i+1 when step i starts, so only the excess of its time over
// the GPU time of step i shows as host gap; without overlap all of it does, before each step.
// Wrong where single host gaps matter (their mean is used), and below the resolution of a client:
// tokens reach it at the instant the GPU ends.
#pragma once

#include <vector>

#include "sim/engine/client.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/observer.h"
#include "sim/engine/step_timer.h"
#include "sim/serving/balancer.h"
#include "sim/serving/scheduler.h"

namespace plateau {

// Host seconds to prepare one step of n requests (decoding or prefilled in it): step_seconds + n *
// request_seconds, and from slow_from requests on slow_seconds more (measured hosts are bimodal
// there; this is the slow mode's mean contribution).
struct HostLaw {
  double step_seconds = 0;
  double request_seconds = 0;
  double slow_seconds = 0;
  double slow_from = 0;
};

class Simulation : private SendQueue {
 public:
  // All must outlive the run. A scheduler and a client serve one run.
  Simulation(Scheduler& scheduler, Client& client, StepTimer& timer, HostLaw host,
             std::vector<Observer*> observers);
  // Replicas that share nothing but the client.
  Simulation(std::vector<Scheduler*> replicas, BalancerLaw balancer, Client& client,
             StepTimer& timer, HostLaw host, std::vector<Observer*> observers);

  // Until every request has ended. Throws InternalError, with the simulated time, when an invariant
  // breaks.
  void run();

 private:
  struct Engine {
    Step prepared;       // by schedule(), for the next step_start
    StepRecord record;   // of the step on the GPU
    StepShape shape;     // of the step on the GPU
    StepCost cost;       // of the step on the GPU: another replica asks the timer meanwhile
    SimTime ready{};     // when the host has the prepared step ready
    SimTime looked{};    // when the host began to prepare it
    SimTime gpu_free{};  // end of the last step
    bool has_prepared = false;
    bool gpu_busy = false;
    bool asleep = true;  // nothing runs, is prepared or about to be looked at
  };

  void send(const Request& request) override;
  void dispatch(const Event& event);
  void arrive(const Request& request);
  void schedule(std::size_t replica);
  void start_step(std::size_t replica);
  void end_step(std::size_t replica);
  void tell_clients(const StepResult& result, std::size_t replica);
  void finish();
  SimTime host_time(const Step& step) const;

  std::vector<Scheduler*> schedulers_;
  Balancer balancer_;
  Client& client_;
  StepTimer& timer_;
  HostLaw host_;
  std::vector<Observer*> observers_;

  EventQueue events_;
  SimTime now_{};
  SimTime last_token_{};
  std::vector<Engine> engines_;  // by replica
};

}  // namespace plateau
