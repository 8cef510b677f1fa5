// The requests that decode, grouped so that a step costs the same for two or two thousand of them.
//
// Every decode step gives every running request one token. With D decode steps launched so far, a
// request that had g tokens when it joined at D0 has birth = D0 - g, constant while it runs, and
//   generated = D - birth               tokens of a step that has not completed included
//   stored    = prompt + generated - 1  the newest token's KV is written by the next step
//                                       (no "- 1" when the prefill emits no token)
//   ends with step birth + output_tokens: one bucket per step
//   meets its limit at step birth + max_new_tokens: one group per step, for admission
//   needs a page at the next step when stored = 0 mod page: a histogram of (stored - D) mod page
// Costs: join and leave O(log groups) and a shift of the group lists, a step O(1).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/request_table.h"

namespace plateau {

// Running requests that reach their max_new_tokens at the same decode step.
struct LimitGroup {
  std::int64_t step = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;  // sum of prompt - birth: prompt + generated = offset + count * D
};

class RunningBatch {
 public:
  // `prefill_emits_token`: a request joins with the first token of its prefill, whose KV is not
  // stored yet.
  RunningBatch(RequestTable& table, std::int64_t page_tokens, bool prefill_emits_token);

  // `generated` counts the token that its prefill emits.
  void join(Slot slot, std::int64_t generated);
  void leave(Slot slot);
  // Launches a decode step: every request stores and generates one token.
  void step();

  std::int64_t size() const { return size_; }
  std::int64_t steps() const { return steps_; }                    // D
  std::int64_t context_tokens() const { return context_tokens_; }  // sum of stored
  std::int64_t pages_needed() const;                               // by the next step
  bool needs_page(Slot slot) const { return stored(slot) % page_ == 0; }
  std::int64_t generated(Slot slot) const { return steps_ - table_[slot].birth; }
  std::int64_t stored(Slot slot) const {
    return table_[slot].request.input_tokens + generated(slot) - unstored_;
  }
  std::int64_t end_step(Slot slot) const {
    return table_[slot].birth + table_[slot].request.output_tokens;
  }

  // Appends the requests whose last token came with decode step `step`, in order of joining; they
  // still have to leave. Steps must be asked for in order.
  void take_ending(std::int64_t step, std::vector<Slot>& ended);
  Slot latest() const { return last_; }  // to join; the batch is not empty
  // All, in order of joining. O(running).
  std::vector<Slot> slots() const;

  const std::vector<LimitGroup>& limit_groups() const { return limits_; }  // latest step first
  std::int64_t limit_step_sum() const { return limit_step_sum_; }          // over requests

 private:
  struct Bucket {
    std::int64_t step = 0;
    Slot head = kNoSlot;
    Slot tail = kNoSlot;
  };

  void join_bucket(Slot slot);
  void leave_bucket(Slot slot);
  LimitGroup& limit_group(std::int64_t step);
  std::int64_t limit_step(Slot slot) const {
    return table_[slot].birth + table_[slot].request.max_new_tokens;
  }
  std::size_t residue(Slot slot) const;

  RequestTable& table_;
  std::int64_t page_;
  std::int64_t unstored_;
  std::int64_t steps_ = 0;
  std::int64_t size_ = 0;
  std::int64_t context_tokens_ = 0;
  std::int64_t limit_step_sum_ = 0;
  Slot first_ = kNoSlot;
  Slot last_ = kNoSlot;
  std::vector<Bucket> buckets_;         // by step, latest first: the next to end are at the back
  std::vector<LimitGroup> limits_;      // likewise
  std::vector<std::int64_t> residues_;  // running requests by (stored - D) mod page
};

}  // namespace plateau
