// The engine measured on the H200 (calibration data "h200-measured"): a minimal continuous-batching
// decoder.
//
// If the first waiting request fits, a prefill batch is formed and run before anything decodes, of
// at most `chunk_tokens` prompt tokens (the first request is taken whatever its length: prompts are
// not split). A request fits when ceil((prompt + output) / page) pages are free (full reservation,
// nothing is ever retracted) and fewer than max_running run. The prefill emits the first token;
// then one decode step for all, then the queue is looked at again. The host waits for the tokens of
// each step (no overlap). num_continuous_decode_steps n: up to n decode steps run before the queue
// is looked at, fewer when a request ends.
//
// With reserve_output off it admits on current need instead: a request joins when its prompt (and
// what it had generated) fits now, and a decode step that lacks pages retracts the latest admitted
// until the rest fits. It is the textbook counterpart between whose walls, floor(pool / longest
// life) and pool / mean life, any engine's lies.
#include <algorithm>

#include "sim/serving/batching.h"

namespace plateau {

namespace {

class SimpleScheduler : public BatchingScheduler {
 public:
  explicit SimpleScheduler(const EngineLimits& limits)
      : BatchingScheduler(limits,
                          {limits.simple.reserve_output, limits.simple.prefill_emits_token}) {}

  bool overlaps() const override { return false; }
  bool fits_alone(std::int64_t input_tokens, std::int64_t max_new_tokens) const override {
    return kv_.pages_for(input_tokens + max_new_tokens) <= kv_.capacity_pages();
  }

 private:
  bool form_step() override {
    if (burst_left_ == 0) {
      if (form_prefill()) return true;
      burst_left_ = limits_.num_continuous_decode_steps;
    }
    if (running_.size() == 0) {
      burst_left_ = 0;
      return false;
    }
    make_room();
    launch();
    decode_running();
    --burst_left_;
    return true;
  }

  void request_ended(const ActiveRequest&, bool /*by_prefill*/) override { burst_left_ = 0; }

  bool form_prefill() {
    std::int64_t tokens = 0;
    while (!waiting_.empty() && running_.size() < limits_.max_running) {
      const Slot slot = waiting_.front();
      const std::int64_t prompt = prefill_left(slot);
      const bool over_chunk = limits_.chunk_tokens >= 1 && tokens + prompt > limits_.chunk_tokens;
      if ((tokens > 0 && over_chunk) || !fits_now(slot)) break;
      if (tokens == 0) launch();
      waiting_.pop_front();
      prefill(slot, prompt);
      tokens += prompt;
    }
    return tokens > 0;
  }

  bool fits_now(Slot slot) const {
    const Request& request = table_[slot].request;
    const std::int64_t need = limits_.simple.reserve_output
                                  ? request.input_tokens + request.max_new_tokens
                                  : prefill_left(slot);
    return kv_.pages_for(need) <= kv_.free_pages();
  }

  // Frees the pages of the coming decode step.
  void make_room() {
    if (limits_.simple.reserve_output) return;
    while (running_.pages_needed() > kv_.free_pages() && running_.size() > 1) {
      const Slot slot = running_.latest();
      retract(slot);
      waiting_.push_front(slot);  // keeps first come, first served
    }
  }

  int burst_left_ = 0;  // decode steps before the queue is looked at
};

}  // namespace

std::unique_ptr<Scheduler> make_simple_scheduler(const EngineLimits& limits) {
  return std::make_unique<SimpleScheduler>(limits);
}

}  // namespace plateau
