// Hand-made runs for the tests of reports: steps with given times and parts, told to an observer in
// the order in which a simulation tells them.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "sim/engine/observer.h"

namespace plateau::test {

using namespace std::chrono_literals;

struct FakeStep {
  SimTime length{};
  SimTime host_gap{};
  SimTime idle{};
  double decode = 0;   // sequences
  double prefill = 0;  // tokens
  std::int64_t running = 0;
  std::int64_t queued = 0;
  std::int64_t kv_used = 0;
  std::int64_t output_tokens = 0;
  std::int64_t new_requests = 0;
  double watts = 100;
  bool graph = false;
  std::vector<std::pair<Part, double>> parts{};  // shares of the step's time; empty: all moe
  std::vector<TokenGap> gaps{};
  Source source = Source::measured;
};

class FakeRun {
 public:
  explicit FakeRun(Observer& observer) : observer_(observer) {}

  SimTime now() const { return now_; }

  void step(const FakeStep& fake) {
    StepShape shape;
    shape.decode_sequences = shape.decode_padded = fake.decode;
    shape.decode_context_tokens = fake.decode * 100;
    shape.prefill_tokens = fake.prefill;
    shape.prefill_sequences = static_cast<double>(fake.new_requests);
    shape.graph = fake.graph;
    const StepCost cost = cost_of(fake);
    StepRecord record;
    record.start = now_ + fake.idle + fake.host_gap;
    record.end = record.start + fake.length;
    record.host_gap = fake.host_gap;
    record.idle = fake.idle;
    record.shape = &shape;
    record.cost = &cost;
    record.running = fake.running;
    record.queued = fake.queued;
    record.kv_used_tokens = fake.kv_used;
    record.output_tokens = fake.output_tokens;
    record.new_requests = fake.new_requests;
    record.gaps = &fake.gaps;
    now_ = record.end;
    observer_.on_step(record);
  }

  void finish(SimTime sent, SimTime first_token, std::int64_t input, std::int64_t output,
              std::int64_t requests = 1) {
    for (std::int64_t i = 0; i < requests; ++i) {
      RequestRecord record;
      record.id = next_id_++;
      record.sent = sent;
      record.first_token = first_token;
      record.finished = now_;
      record.input_tokens = input;
      record.output_tokens = output;
      observer_.on_request_finished(record);
    }
  }

  void end() { observer_.on_end(now_); }

 private:
  static StepCost cost_of(const FakeStep& fake) {
    StepCost cost;
    const double seconds = to_seconds(fake.length);
    const auto parts =
        fake.parts.empty() ? std::vector<std::pair<Part, double>>{{Part::moe, 1.0}} : fake.parts;
    for (const auto& [part, share] : parts) {
      cost[part].seconds += share * seconds;
      cost[part].joules += share * seconds * fake.watts;
      cost.seconds += share * seconds;
      cost.joules += share * seconds * fake.watts;
    }
    cost.busy_seconds = cost.seconds - cost[Part::launch].seconds;
    cost.low_seconds = 0.9 * cost.seconds;
    cost.high_seconds = 1.25 * cost.seconds;
    cost.low_joules = 0.8 * cost.joules;
    cost.high_joules = 1.1 * cost.joules;
    cost.source_seconds[static_cast<std::size_t>(fake.source)] = cost.seconds;
    return cost;
  }

  Observer& observer_;
  SimTime now_{};
  std::int64_t next_id_ = 0;
};

// `waves` of requests in lock-step: each is prefilled in one step, then decoded to `output` tokens
// in output - 1 steps (the prefill emits the first token). In wave w, sizes[w] run and queued[w]
// wait.
struct LockStep {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> queued;
  std::int64_t input = 10;
  std::int64_t output = 5;
  SimTime prefill_per_request = 1ms;
  SimTime decode_step = 10ms;
};

inline void play(FakeRun& run, const LockStep& plan) {
  for (std::size_t wave = 0; wave < plan.sizes.size(); ++wave) {
    const std::int64_t n = plan.sizes[wave];
    const SimTime sent = run.now();
    FakeStep prefill;
    prefill.length = plan.prefill_per_request * n;
    prefill.prefill = static_cast<double>(n * plan.input);
    prefill.running = n;
    prefill.queued = plan.queued[wave];
    prefill.output_tokens = prefill.new_requests = n;
    run.step(prefill);
    const SimTime first = run.now();
    FakeStep decode;
    decode.length = plan.decode_step;
    decode.decode = static_cast<double>(n);
    decode.running = decode.output_tokens = n;
    decode.queued = plan.queued[wave];
    decode.gaps = {{plan.decode_step, n}};
    for (std::int64_t i = 1; i < plan.output; ++i) run.step(decode);
    run.finish(sent, first, plan.input, plan.output, n);
  }
  run.end();
}

}  // namespace plateau::test
