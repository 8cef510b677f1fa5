// SGLang's scheduler written down request by request, as the rules read: every sum is a loop over
// the requests, every list is a list. Far too slow to serve, plain enough to be checked by eye; the
// grouped scheduler must give the same steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/serving/scheduler.h"

namespace plateau::testing {

struct ReferenceStep {
  std::int64_t prefill_sequences = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context = 0;
  std::int64_t kv_used = 0;
  std::int64_t retracted = 0;
  std::int64_t recompute = 0;
};

class ReferenceSglang {
 public:
  ReferenceSglang(const EngineLimits& limits, std::vector<Request> requests,
                  std::size_t concurrency)
      : limits_(limits), requests_(std::move(requests)) {
    pool_ = limits.pool_tokens / limits.page_tokens * limits.page_tokens;
    ratio_ = init_ratio_ = std::min(0.7 * limits.sglang.schedule_conservativeness, 1.0);
    least_ratio_ = std::min(init_ratio_ * 0.14, 1.0);
    for (std::size_t client = 0; client < concurrency; ++client) send_next();
  }

  // The engine's event loop. The client answers an end at once: its request is there at the next
  // look.
  std::vector<ReferenceStep> run() {
    std::optional<Batch> last;
    while (true) {
      for (const Ptr& request : incoming_) waiting_.push_back(request);
      incoming_.clear();
      step_ = {};
      std::optional<Batch> batch = next_batch(last);
      if (batch) record(*batch);
      if (limits_.sglang.overlap) {
        if (last) {
          process(*last);
        } else if (!batch && idle()) {
          break;
        }
      } else {
        if (batch) {
          process(*batch);
        } else if (idle()) {
          break;
        }
      }
      last = batch;
    }
    return steps_;
  }

  std::int64_t delivered() const { return delivered_; }
  bool all_freed() const { return used() == 0; }

 private:
  struct Req {
    Request request;
    std::int64_t outputs = 0;    // tokens the host knows
    std::int64_t stored = 0;     // KV tokens, launched ones included
    std::int64_t prefilled = 0;  // of prompt + outputs
    bool finished = false;
    bool retracted = false;
  };
  using Ptr = std::shared_ptr<Req>;
  struct Batch {
    bool extend = false;
    std::vector<Ptr> prefilled;  // extend: in the batch
    std::vector<std::int64_t> tokens;
    std::vector<Ptr> decoded;  // decode, or mixed into the extend
    Ptr chunked;               // still chunked after this batch
  };

  void send_next() {
    if (sent_ == requests_.size()) return;
    auto request = std::make_shared<Req>();
    request->request = requests_[sent_++];
    incoming_.push_back(request);
  }

  bool idle() {
    ratio_ = init_ratio_;
    return incoming_.empty() && waiting_.empty();
  }

  std::int64_t page_ceil(std::int64_t tokens) const {
    return (tokens + limits_.page_tokens - 1) / limits_.page_tokens * limits_.page_tokens;
  }
  std::int64_t page_floor(std::int64_t tokens) const {
    return tokens <= 0 ? 0 : tokens / limits_.page_tokens * limits_.page_tokens;
  }
  std::int64_t used() const {
    std::int64_t sum = chunked_ ? page_ceil(chunked_->stored) : 0;
    for (const Ptr& r : running_) sum += page_ceil(r->stored);
    for (const Ptr& r : unmerged_) {
      if (r != chunked_) sum += page_ceil(r->stored);
    }
    return sum;
  }
  std::int64_t available() const { return pool_ - used(); }
  static std::int64_t clip(std::int64_t tokens) { return std::min<std::int64_t>(tokens, 4096); }
  bool july() const { return limits_.sglang.rules == SglangRules::jul_2026; }
  bool mixed() const { return limits_.sglang.mixed_chunk; }

  std::optional<Batch> next_batch(const std::optional<Batch>& last) {
    if (last && last->extend) merge(*last);
    const bool honour = limits_.sglang.honour_continuous_decode_steps;
    if (!honour || burst_ == 0 || burst_ >= limits_.num_continuous_decode_steps) {
      burst_ = 0;
      if (auto batch = prefill_batch()) return batch;
    }
    if (auto batch = decode_batch()) {
      if (!batch->extend) ++burst_;
      return batch;
    }
    burst_ = 0;
    return std::nullopt;
  }

  void merge(const Batch& last) {
    bool shrank = false;
    if (last.chunked) shrank = true;
    const bool was_mixed = !last.decoded.empty();
    std::vector<Ptr> kept;
    if (was_mixed) {  // the running requests sit in the extend batch and are filtered with it
      for (const Ptr& r : running_) {
        if (r->finished) {
          shrank = true;
        } else {
          kept.push_back(r);
        }
      }
      running_ = kept;
    }
    for (const Ptr& r : unmerged_) {
      if (r == last.chunked) continue;
      if (r->finished) {
        shrank = true;
      } else {
        running_.push_back(r);
      }
    }
    unmerged_.clear();
    if (shrank) full_ = false;
  }

  void drop_finished() {
    running_.erase(
        std::remove_if(running_.begin(), running_.end(), [](const Ptr& r) { return r->finished; }),
        running_.end());
  }

  std::int64_t pages_needed() const {
    std::int64_t need = 0;
    for (const Ptr& r : running_) need += r->stored % limits_.page_tokens == 0 ? 1 : 0;
    return need;
  }

  std::optional<Batch> decode_batch() {
    const std::size_t before = running_.size();
    drop_finished();
    if (running_.empty()) {
      full_ = false;
      return std::nullopt;
    }
    if (pages_needed() * limits_.page_tokens > available()) {
      retract(0, chunked_ ? 0 : 1);
      if (running_.empty()) return prefill_batch();
    } else {
      ratio_ = std::max(ratio_ - (init_ratio_ - least_ratio_) / 600, least_ratio_);
    }
    if (running_.size() < before) full_ = false;
    Batch batch;
    decode_all(batch);
    return batch;
  }

  void decode_all(Batch& batch) {
    batch.decoded = running_;
    for (const Ptr& r : running_) ++r->stored;
  }

  void retract(std::int64_t beside_tokens, std::size_t keep) {
    std::stable_sort(running_.begin(), running_.end(), [](const Ptr& a, const Ptr& b) {
      return a->outputs != b->outputs ? a->outputs > b->outputs
                                      : a->request.input_tokens < b->request.input_tokens;
    });
    bool first = true;
    while (running_.size() > keep &&
           (first || pages_needed() * limits_.page_tokens + beside_tokens > available())) {
      first = false;
      const Ptr r = running_.back();
      running_.pop_back();
      r->retracted = true;
      r->stored = r->prefilled = 0;
      ++step_.retracted;
      step_.recompute += r->request.input_tokens + r->outputs;
      waiting_.push_back(r);
    }
    double outputs = 0;
    double max_new = 0;
    for (const Ptr& r : running_) {
      outputs += static_cast<double>(r->outputs);
      max_new += static_cast<double>(r->request.max_new_tokens);
    }
    const auto kept = static_cast<double>(running_.size());
    if (kept > 0) ratio_ = std::min(1.0, (outputs + 20 * kept) / (max_new + 1));
    full_ = false;
  }

  std::int64_t extend_of(const Ptr& r) const {
    return r->request.input_tokens + r->outputs - r->prefilled;
  }

  struct Adder {
    std::optional<std::int64_t> chunk;
    std::optional<std::int64_t> input;
    double total_offset = 0;
    std::int64_t current_offset = 0;
    Batch batch;
  };

  std::optional<Batch> prefill_batch() {
    if ((full_ || waiting_.empty()) && !chunked_) return std::nullopt;
    const auto cap = limits_.max_running - static_cast<std::int64_t>(running_.size());
    if (cap <= 0 && !chunked_) {
      full_ = true;
      return std::nullopt;
    }
    Adder adder;
    const std::int64_t mix = mixed() ? static_cast<std::int64_t>(running_.size()) : 0;
    const bool chunking = limits_.chunk_tokens > 0;
    if (chunking) adder.chunk = limits_.chunk_tokens - mix;
    if (!july() || !chunking) adder.input = limits_.sglang.max_prefill_tokens - mix;
    adder.current_offset = mix;
    std::int64_t estimated = 0;
    for (const Ptr& r : running_) estimated += clip(r->request.max_new_tokens - r->outputs);
    adder.total_offset = ratio_ * static_cast<double>(estimated) + static_cast<double>(mix);
    avail_ = available();

    bool go_on = true;
    if (chunked_) {
      const Ptr r = chunked_;
      std::int64_t tokens = extend_of(r);
      if (chunking && tokens > *adder.chunk) tokens = page_floor(*adder.chunk);
      if (page_ceil(tokens) > avail_) {
        tokens = avail_;
        go_on = false;
      }
      if (tokens == 0) return std::nullopt;
      if (tokens == extend_of(r)) chunked_ = nullptr;
      add(adder, r, tokens);
    }
    while (go_on && !waiting_.empty()) {
      if (static_cast<std::int64_t>(adder.batch.prefilled.size()) >= cap) {
        full_ = true;
        break;
      }
      go_on = admit(adder);
    }
    if (adder.batch.prefilled.empty()) return std::nullopt;
    return launch(adder);
  }

  std::optional<Batch> launch(Adder& adder) {
    Batch& batch = adder.batch;
    batch.extend = true;
    batch.chunked = chunked_;
    if (mixed()) {
      drop_finished();
      std::int64_t beside = 0;
      for (const std::int64_t tokens : batch.tokens) beside += page_ceil(tokens);
      if (pages_needed() * limits_.page_tokens + beside > avail_now(batch)) {
        retract_beside(beside, batch);
      }
      if (!running_.empty()) decode_all(batch);
    }
    for (std::size_t i = 0; i < batch.prefilled.size(); ++i) {
      const Ptr& r = batch.prefilled[i];
      r->retracted = false;
      r->prefilled += batch.tokens[i];
      r->stored = r->prefilled;
      unmerged_.push_back(r);
    }
    return batch;
  }
  std::int64_t held_by_chosen(const Batch& batch) const {
    std::int64_t held = 0;
    for (const Ptr& r : batch.prefilled) {
      if (r != chunked_) held += page_ceil(r->stored);
    }
    return held;
  }
  std::int64_t avail_now(const Batch& batch) const { return available() - held_by_chosen(batch); }
  void retract_beside(std::int64_t beside, const Batch& batch) {
    retract(beside + held_by_chosen(batch), 0);
  }

  void add(Adder& adder, const Ptr& r, std::int64_t tokens) {
    const std::int64_t surcharge = july() ? limits_.page_tokens : 0;
    const std::int64_t paged = page_ceil(tokens);
    adder.current_offset += paged + surcharge;
    adder.total_offset += static_cast<double>(
        paged + surcharge + (r == chunked_ ? 0 : clip(r->request.max_new_tokens)));
    if (adder.chunk) *adder.chunk -= paged;
    if (adder.input) *adder.input -= paged;
    adder.batch.prefilled.push_back(r);
    adder.batch.tokens.push_back(tokens);
  }

  double total_left(const Adder& adder) const {
    return static_cast<double>(avail_) - adder.total_offset;
  }
  std::int64_t current_left(const Adder& adder) const { return avail_ - adder.current_offset; }

  // True: go on with the next of the queue.
  bool admit(Adder& adder) {
    const Ptr r = waiting_.front();
    const std::int64_t extend = extend_of(r);
    if (limits_.sglang.ignore_eos && !limits_.sglang.radix_cache) {
      if (!look_ahead(adder, r, extend)) {
        full_ = true;
        return false;
      }
    } else {
      const std::int64_t left = std::max<std::int64_t>(r->request.max_new_tokens - r->outputs, 0);
      const std::int64_t need = extend + clip(left) + (july() ? limits_.page_tokens : 0);
      if (static_cast<double>(need) >= total_left(adder)) {
        full_ = true;
        return false;
      }
      if (adder.input && page_ceil(extend) >= *adder.input && !adder.batch.prefilled.empty()) {
        return false;
      }
    }
    std::int64_t tokens = extend;
    if (adder.chunk && extend > *adder.chunk) {
      tokens = page_floor(*adder.chunk);
      if (tokens <= 0) return false;
      chunked_ = r;
    }
    waiting_.pop_front();
    add(adder, r, tokens);
    if (total_left(adder) <= 0 || current_left(adder) <= 0) {
      full_ = true;
      return false;
    }
    return !((adder.input && *adder.input <= 0) || (adder.chunk && *adder.chunk <= 0));
  }

  bool look_ahead(const Adder& adder, const Ptr& candidate, std::int64_t extend) const {
    const std::int64_t paged = page_ceil(extend);
    if (paged > current_left(adder) || static_cast<double>(paged) > total_left(adder)) {
      return false;
    }
    struct State {
      std::int64_t left;
      std::int64_t held;
    };
    std::vector<State> states;
    const auto put = [&](const Ptr& r) {
      const std::int64_t left = r->request.max_new_tokens - r->outputs;
      if (left > 0 && !r->finished) states.push_back({left, r->request.input_tokens + r->outputs});
    };
    put(candidate);
    for (const Ptr& r : running_) put(r);
    for (const Ptr& r : adder.batch.prefilled) put(r);
    std::stable_sort(states.begin(), states.end(),
                     [](const State& a, const State& b) { return a.left < b.left; });
    const std::int64_t current = current_left(adder) - paged;
    std::int64_t freed = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto bs = static_cast<std::int64_t>(states.size() - i);
      if (current + freed - states[i].left * bs <= bs) return false;
      freed += states[i].held;
    }
    return true;
  }

  void token(const Ptr& r) {
    ++r->outputs;
    ++delivered_;
    if (r->outputs < r->request.output_tokens) return;
    r->finished = true;
    r->stored = 0;
    send_next();
  }

  void process(const Batch& batch) {
    for (const Ptr& r : batch.decoded) {
      if (!r->finished && !r->retracted) token(r);
    }
    for (const Ptr& r : batch.prefilled) {
      if (r != batch.chunked && !r->finished && !r->retracted) token(r);
    }
  }

  void record(const Batch& batch) {
    step_.prefill_sequences = static_cast<std::int64_t>(batch.prefilled.size());
    for (const std::int64_t tokens : batch.tokens) step_.prefill_tokens += tokens;
    step_.decode_sequences = static_cast<std::int64_t>(batch.decoded.size());
    for (const Ptr& r : batch.decoded) step_.decode_context += r->stored;
    step_.kv_used = used();
    steps_.push_back(step_);
  }

  EngineLimits limits_;
  std::vector<Request> requests_;
  std::size_t sent_ = 0;
  std::int64_t pool_ = 0;
  double ratio_ = 0;
  double init_ratio_ = 0;
  double least_ratio_ = 0;
  bool full_ = false;
  int burst_ = 0;
  std::int64_t avail_ = 0;
  std::deque<Ptr> waiting_;
  std::vector<Ptr> incoming_;
  std::vector<Ptr> running_;
  std::vector<Ptr> unmerged_;  // the last extend batch, not merged yet
  Ptr chunked_;
  ReferenceStep step_;
  std::vector<ReferenceStep> steps_;
  std::int64_t delivered_ = 0;
};

}  // namespace plateau::testing
