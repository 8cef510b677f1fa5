// The simulation of one engine: who sends, who decides, what a step costs and who watches, tied
// together by events.
//
//   arrival     a request joins the scheduler's queue; an idle engine wakes
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

  // Until every request has ended. Throws InternalError, with the simulated time, when an invariant
  // breaks.
  void run();

 private:
  void send(const Request& request) override;
  void dispatch(const Event& event);
  void arrive(const Request& request);
  void schedule();
  void start_step();
  void end_step();
  void tell_clients(const StepResult& result);
  void finish();
  SimTime host_time(const Step& step) const;

  Scheduler& scheduler_;
  Client& client_;
  StepTimer& timer_;
  HostLaw host_;
  std::vector<Observer*> observers_;

  EventQueue events_;
  SimTime now_{};
  Step prepared_;       // by schedule(), for the next step_start
  StepRecord record_;   // of the step on the GPU
  StepShape shape_;     // of the step on the GPU
  SimTime ready_{};     // when the host has the prepared step ready
  SimTime looked_{};    // when the host began to prepare it
  SimTime gpu_free_{};  // end of the last step
  SimTime last_token_{};
  bool has_prepared_ = false;
  bool gpu_busy_ = false;
  bool asleep_ = true;  // nothing runs, is prepared or about to be looked at
};

}  // namespace plateau
