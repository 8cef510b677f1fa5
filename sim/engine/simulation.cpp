#include "sim/engine/simulation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/engine/check.h"

namespace plateau {

Simulation::Simulation(Scheduler& scheduler, Client& client, StepTimer& timer, HostLaw host,
                       std::vector<Observer*> observers)
    : scheduler_(scheduler),
      client_(client),
      timer_(timer),
      host_(host),
      observers_(std::move(observers)) {}

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
      return schedule();
    case Event::Kind::step_start:
      return start_step();
    case Event::Kind::step_end:
      return end_step();
  }
}

void Simulation::send(const Request& request) {
  events_.push(request.sent, Event::Kind::arrival, request);
}

void Simulation::arrive(const Request& request) {
  scheduler_.enqueue(request);
  client_.on_sent(request, *this);
  if (asleep_) {
    asleep_ = false;
    events_.push(now_, Event::Kind::schedule);
  }
}

void Simulation::schedule() {
  const Step* step = scheduler_.schedule();
  // A look that only tidied up (it noticed that all running requests have ended) is followed by
  // another at once.
  if (step == nullptr && !gpu_busy_ && scheduler_.queued() > 0) step = scheduler_.schedule();
  if (step == nullptr) {
    PLATEAU_CHECK(gpu_busy_ || scheduler_.queued() == 0, "requests wait but nothing can run");
    asleep_ = !gpu_busy_;
    return;
  }
  prepared_ = *step;
  has_prepared_ = true;
  looked_ = now_;
  ready_ = now_ + host_time(prepared_);
  if (prepared_.retraction) {
    prepared_.retraction->time = now_;
    for (Observer* observer : observers_) observer->on_retraction(*prepared_.retraction);
  }
  if (!gpu_busy_) events_.push(ready_, Event::Kind::step_start);
}

void Simulation::start_step() {
  shape_ = prepared_.shape;
  record_ = {};
  record_.start = now_;
  const SimTime could_start = std::max(gpu_free_, looked_);
  record_.idle = could_start - gpu_free_;
  record_.host_gap = now_ - could_start;
  record_.shape = &shape_;
  record_.running = prepared_.running;
  record_.kv_used_tokens = prepared_.kv_used_tokens;
  record_.queued = scheduler_.queued();
  record_.cost = &timer_.cost(shape_);
  record_.end = now_ + to_sim_time(record_.cost->seconds);
  PLATEAU_CHECK(record_.end >= now_, "a step takes negative time");
  gpu_busy_ = true;
  has_prepared_ = false;
  events_.push(record_.end, Event::Kind::step_end);
  if (scheduler_.overlaps()) schedule();
}

void Simulation::end_step() {
  const StepResult& result = scheduler_.complete(now_);
  gpu_busy_ = false;
  gpu_free_ = now_;
  if (result.output_tokens > 0) last_token_ = now_;
  record_.output_tokens = result.output_tokens;
  record_.new_requests = result.new_requests;
  record_.gaps = &result.gaps;
  for (Observer* observer : observers_) observer->on_step(record_);
  tell_clients(result);
  if (has_prepared_) {
    events_.push(std::max(now_, ready_), Event::Kind::step_start);
  } else {
    events_.push(now_, Event::Kind::schedule);
  }
}

void Simulation::tell_clients(const StepResult& result) {
  for (const RequestRecord& finished : result.finished) {
    for (Observer* observer : observers_) observer->on_request_finished(finished);
    client_.on_finished(finished, *this);
  }
}

void Simulation::finish() {
  PLATEAU_CHECK(scheduler_.queued() == 0 && scheduler_.running() == 0, "requests left behind");
  PLATEAU_CHECK(scheduler_.kv().used_tokens() == 0, "KV left allocated");
  for (Observer* observer : observers_) observer->on_end(last_token_);
}

SimTime Simulation::host_time(const Step& step) const {
  const double requests = step.shape.decode_sequences + step.shape.prefill_sequences;
  const double slow = requests >= host_.slow_from ? host_.slow_seconds : 0;
  return to_sim_time(host_.step_seconds + host_.request_seconds * requests + slow);
}

}  // namespace plateau
