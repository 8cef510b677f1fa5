#include "sim/engine/simulation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/engine/check.h"

namespace plateau {

Simulation::Simulation(Scheduler& scheduler, Client& client, StepTimer& timer, HostLaw host,
                       std::vector<Observer*> observers)
    : Simulation(std::vector<Scheduler*>{&scheduler}, BalancerLaw::round_robin, client, timer, host,
                 std::move(observers)) {}

Simulation::Simulation(std::vector<Scheduler*> replicas, BalancerLaw balancer, Client& client,
                       StepTimer& timer, HostLaw host, std::vector<Observer*> observers)
    : schedulers_(std::move(replicas)),
      balancer_(balancer),
      client_(client),
      timer_(timer),
      host_(host),
      observers_(std::move(observers)),
      engines_(schedulers_.size()) {
  PLATEAU_CHECK(!schedulers_.empty(), "a simulation needs an engine");
}

void Simulation::run() {
  client_.start(*this);
  while (!events_.empty()) {
    const Event event = events_.pop();
    PLATEAU_CHECK(event.time >= now_, "time goes back");
    now_ = event.time;
    try {
      dispatch(event);
    } catch (const InternalError& error) {
      throw InternalError(std::string(error.what()) + " at " + std::to_string(now_.count()) +
                          " ns, event " + name_of(event.kind));
    }
  }
  finish();
}

void Simulation::dispatch(const Event& event) {
  switch (event.kind) {
    case Event::Kind::arrival:
      return arrive(event.request);
    case Event::Kind::schedule:
      return schedule(event.replica);
    case Event::Kind::step_start:
      return start_step(event.replica);
    case Event::Kind::step_end:
      return end_step(event.replica);
  }
}

void Simulation::send(const Request& request) {
  events_.push(request.sent, Event::Kind::arrival, request);
}

void Simulation::arrive(const Request& request) {
  const std::size_t replica = balancer_.choose(schedulers_);
  schedulers_[replica]->enqueue(request);
  client_.on_sent(request, *this);
  if (engines_[replica].asleep) {
    engines_[replica].asleep = false;
    events_.push(now_, Event::Kind::schedule, {}, replica);
  }
}

void Simulation::schedule(std::size_t replica) {
  Scheduler& scheduler = *schedulers_[replica];
  Engine& engine = engines_[replica];
  const Step* step = scheduler.schedule();
  // A look that only tidied up (it noticed that all running requests have ended) is followed by
  // another at once.
  if (step == nullptr && !engine.gpu_busy && scheduler.queued() > 0) step = scheduler.schedule();
  if (step == nullptr) {
    PLATEAU_CHECK(engine.gpu_busy || scheduler.queued() == 0, "requests wait but nothing can run");
    engine.asleep = !engine.gpu_busy;
    return;
  }
  engine.prepared = *step;
  engine.has_prepared = true;
  engine.looked = now_;
  engine.ready = now_ + host_time(engine.prepared);
  if (auto& retraction = engine.prepared.retraction) {
    retraction->time = now_;
    retraction->replica = replica;
    for (Observer* observer : observers_) observer->on_retraction(*retraction);
  }
  if (!engine.gpu_busy) events_.push(engine.ready, Event::Kind::step_start, {}, replica);
}

void Simulation::start_step(std::size_t replica) {
  Scheduler& scheduler = *schedulers_[replica];
  Engine& engine = engines_[replica];
  engine.shape = engine.prepared.shape;
  StepRecord& record = engine.record;
  record = {};
  record.replica = replica;
  record.start = now_;
  const SimTime could_start = std::max(engine.gpu_free, engine.looked);
  record.idle = could_start - engine.gpu_free;
  record.host_gap = now_ - could_start;
  record.shape = &engine.shape;
  record.running = engine.prepared.running;
  record.kv_used_tokens = engine.prepared.kv_used_tokens;
  record.queued = scheduler.queued();
  engine.cost = timer_.cost(engine.shape);
  record.cost = &engine.cost;
  record.end = now_ + to_sim_time(engine.cost.seconds);
  PLATEAU_CHECK(record.end >= now_, "a step takes negative time");
  engine.gpu_busy = true;
  engine.has_prepared = false;
  events_.push(record.end, Event::Kind::step_end, {}, replica);
  if (scheduler.overlaps()) schedule(replica);
}

void Simulation::end_step(std::size_t replica) {
  Engine& engine = engines_[replica];
  const StepResult& result = schedulers_[replica]->complete(now_);
  engine.gpu_busy = false;
  engine.gpu_free = now_;
  if (result.output_tokens > 0) last_token_ = now_;
  engine.record.output_tokens = result.output_tokens;
  engine.record.new_requests = result.new_requests;
  engine.record.gaps = &result.gaps;
  for (Observer* observer : observers_) observer->on_step(engine.record);
  tell_clients(result, replica);
  if (engine.has_prepared) {
    events_.push(std::max(now_, engine.ready), Event::Kind::step_start, {}, replica);
  } else {
    events_.push(now_, Event::Kind::schedule, {}, replica);
  }
}

void Simulation::tell_clients(const StepResult& result, std::size_t replica) {
  for (RequestRecord finished : result.finished) {
    finished.replica = replica;
    for (Observer* observer : observers_) observer->on_request_finished(finished);
    client_.on_finished(finished, *this);
  }
}

void Simulation::finish() {
  for (const Scheduler* scheduler : schedulers_) {
    PLATEAU_CHECK(scheduler->queued() == 0 && scheduler->running() == 0, "requests left behind");
    PLATEAU_CHECK(scheduler->kv().used_tokens() == 0, "KV left allocated");
  }
  for (Observer* observer : observers_) observer->on_end(last_token_);
}

SimTime Simulation::host_time(const Step& step) const {
  const double requests = step.shape.decode_sequences + step.shape.prefill_sequences;
  const double slow = requests >= host_.slow_from ? host_.slow_seconds : 0;
  return to_sim_time(host_.step_seconds + host_.request_seconds * requests + slow);
}

}  // namespace plateau
