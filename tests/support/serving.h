// What tests of the serving engine share: fake timers, a recording observer, one call that runs a
// closed loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/engine/closed_loop.h"
#include "sim/engine/simulation.h"

namespace plateau::testing {

// A step costs what the function says, in seconds.
class FakeTimer : public StepTimer {
 public:
  explicit FakeTimer(std::function<double(const StepShape&)> seconds = {})
      : seconds_(std::move(seconds)) {}
  const StepCost& cost(const StepShape& shape) override {
    cost_ = {};
    cost_.seconds = seconds_ ? seconds_(shape) : 1e-3;
    return cost_;
  }

 private:
  std::function<double(const StepShape&)> seconds_;
  StepCost cost_;
};

struct SeenStep {
  StepRecord record;  // without its pointers
  StepShape shape;
  std::vector<TokenGap> gaps;
  bool decode() const { return shape.decode_sequences > 0; }
  bool prefill() const { return shape.prefill_sequences > 0; }
};

struct Recorder : Observer {
  std::vector<SeenStep> steps;
  std::vector<RequestRecord> requests;
  std::vector<RetractionRecord> retractions;
  SimTime end{};

  void on_step(const StepRecord& record) override {
    steps.push_back({record, *record.shape, *record.gaps});
    steps.back().record.shape = nullptr;
    steps.back().record.cost = nullptr;
    steps.back().record.gaps = nullptr;
  }
  void on_request_finished(const RequestRecord& record) override { requests.push_back(record); }
  void on_retraction(const RetractionRecord& record) override { retractions.push_back(record); }
  void on_end(SimTime last_token) override { end = last_token; }

  std::int64_t decode_steps() const { return count(&SeenStep::decode); }
  std::int64_t prefill_steps() const { return count(&SeenStep::prefill); }
  std::int64_t count(bool (SeenStep::*kind)() const) const {
    return std::count_if(steps.begin(), steps.end(),
                         [&](const SeenStep& step) { return (step.*kind)(); });
  }
  // Over decode steps.
  double mean_running() const {
    double sum = 0;
    for (const SeenStep& step : steps) sum += step.shape.decode_sequences;
    return sum / static_cast<double>(decode_steps());
  }
  std::int64_t first_wave() const {
    for (const SeenStep& step : steps) {
      if (step.decode()) return step.record.running;
    }
    return 0;
  }
  std::int64_t peak_running() const {
    std::int64_t peak = 0;
    for (const SeenStep& step : steps) peak = std::max(peak, step.record.running);
    return peak;
  }
  std::int64_t peak_kv() const {
    std::int64_t peak = 0;
    for (const SeenStep& step : steps) peak = std::max(peak, step.record.kv_used_tokens);
    return peak;
  }
  std::int64_t output_tokens() const {
    std::int64_t sum = 0;
    for (const SeenStep& step : steps) sum += step.record.output_tokens;
    return sum;
  }
  double prefill_tokens() const {
    double sum = 0;
    for (const SeenStep& step : steps) sum += step.shape.prefill_tokens;
    return sum;
  }
  std::int64_t retracted() const {
    std::int64_t sum = 0;
    for (const RetractionRecord& record : retractions) sum += record.requests;
    return sum;
  }
  std::int64_t recompute_tokens() const {
    std::int64_t sum = 0;
    for (const RetractionRecord& record : retractions) sum += record.recompute_tokens;
    return sum;
  }
};

inline WorkloadConfig closed_loop(int concurrency, std::int64_t requests, int input, int output) {
  WorkloadConfig workload;
  workload.concurrency = concurrency;
  workload.requests = requests;
  workload.input.tokens = input;
  workload.output.tokens = output;
  return workload;
}

// A closed loop over given requests: the next of the list goes out when one ends.
class ListClient : public Client {
 public:
  ListClient(std::vector<Request> requests, std::size_t concurrency)
      : requests_(std::move(requests)), concurrency_(concurrency) {}
  void start(SendQueue& queue) override {
    for (std::size_t client = 0; client < concurrency_; ++client) send_next(SimTime{}, queue);
  }
  void on_finished(const RequestRecord& record, SendQueue& queue) override {
    send_next(record.finished, queue);
  }

 private:
  void send_next(SimTime time, SendQueue& queue) {
    if (sent_ == requests_.size()) return;
    requests_[sent_].sent = time;
    queue.send(requests_[sent_++]);
  }
  std::vector<Request> requests_;
  std::size_t concurrency_;
  std::size_t sent_ = 0;
};

inline Recorder run(std::string_view scheduler, const EngineLimits& limits, Client& client,
                    FakeTimer timer = FakeTimer(), HostLaw host = {}) {
  Recorder recorder;
  const auto engine = make_scheduler(scheduler, limits);
  Simulation(*engine, client, timer, host, {&recorder}).run();
  return recorder;
}

inline Recorder run(std::string_view scheduler, const EngineLimits& limits,
                    const WorkloadConfig& workload, FakeTimer timer = FakeTimer(),
                    HostLaw host = {}, std::uint64_t seed = 1) {
  ClosedLoopClient client(workload, seed);
  return run(scheduler, limits, client, std::move(timer), host);
}

}  // namespace plateau::testing
