// SGLang's scheduler (srt/managers/scheduler.py, schedule_policy.py, schedule_batch.py) by the
// rules of main of 2026-02-20 and, where they differ, of 2026-07-20. First come, first served.
//
// One look of the host:
//   A  the last prefill batch joins the running one
//   B  a prefill batch is formed if the rules below admit anyone; then nobody decodes (unless
//      mixed chunk)
//   C  else the running requests decode: ended ones are dropped, requests are retracted if the
//      step lacks pages
//
// Admission stops for three reasons. NO_TOKEN and a full batch latch `batch_is_full`, which clears
// when the batch is seen to shrink; a used-up chunk or input budget (OTHER) does not latch.
// With avail = free tokens, chosen = taken into this batch, clip(x) = min(x, 4096):
//   rem_total   = avail - ratio * sum over running of clip(max_new - generated)
//                       - sum over chosen of (ceil_page(extend) + clip(max_new))
//   rem_current = avail - sum over chosen of ceil_page(extend)
//   look-ahead (ignore_eos, radix cache off): see sim/serving/look_ahead.h
//   otherwise: admitted if extend + clip(left) < rem_total
// `generated` is what the host knows: with the overlap schedule it lags one step, an end is seen
// one step late, and the request sits in one more step for nothing.
//
// Not modelled: pipeline and data parallelism, speculation, priorities, prefix sharing,
// disaggregation. Departs from the engine where the engine would die of "out of memory": a
// mixed-chunk step that lacks pages retracts as a decode step does (down to nobody while a chunked
// prompt waits for its rest), and that rest may be cut to what is free.
#include <algorithm>
#include <optional>

#include "sim/serving/batching.h"
#include "sim/serving/look_ahead.h"
#include "sim/serving/new_token_ratio.h"

namespace plateau {

namespace {

constexpr std::int64_t kClipMaxNewTokens = 4096;  // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
std::int64_t clip(std::int64_t tokens) { return std::min(tokens, kClipMaxNewTokens); }

// What is left for the prefill batch being formed (the engine's PrefillAdder). The offsets are kept
// apart from what is free, as the engine does: rounding decides ties.
struct PrefillBudget {
  std::optional<std::int64_t> chunk;  // new tokens of this batch; nothing: chunking is off
  std::optional<std::int64_t> input;  // the same under max_prefill_tokens; nothing: not looked at
  std::int64_t free = 0;
  double total_offset = 0;
  std::int64_t current_offset = 0;

  double total() const { return static_cast<double>(free) - total_offset; }  // rem_total
  std::int64_t current() const { return free - current_offset; }             // rem_current
  bool used_up() const { return (chunk && *chunk <= 0) || (input && *input <= 0); }
};

// Requests that are seen to have ended but still sit in the engine's batch: they count against
// max_running and, when they ended short of their limit, in the sum of what is left.
struct Ended {
  std::int64_t count = 0;
  std::int64_t left = 0;  // sum of clip(max_new - generated)
};

enum class Admission { next, no_token, other };

class SglangScheduler : public BatchingScheduler {
 public:
  explicit SglangScheduler(const EngineLimits& limits);

  bool overlaps() const override { return limits_.sglang.overlap; }
  bool fits_alone(std::int64_t input_tokens, std::int64_t max_new_tokens) const override;

 private:
  struct Choice {
    Slot slot = kNoSlot;
    std::int64_t tokens = 0;
  };

  bool form_step() override;
  void request_ended(const ActiveRequest& active, bool by_prefill) override;
  void merge_last_prefill();
  bool form_prefill();
  bool form_decode();

  std::int64_t batch_size() const { return running_.size() + ended_.count; }
  PrefillBudget new_budget() const;
  bool continue_chunked(PrefillBudget& budget);
  void choose_from_queue(PrefillBudget& budget);
  Admission admit(Slot slot, PrefillBudget& budget);
  bool look_ahead_admits(Slot slot, std::int64_t current);
  void choose(Slot slot, std::int64_t tokens, PrefillBudget& budget);
  void launch_prefill();
  void build_look_ahead();
  void add_to_look_ahead(Slot slot);
  std::int64_t known_left_sum() const;
  void retract_until_fits(std::int64_t other_pages, std::size_t keep);

  bool july() const { return limits_.sglang.rules == SglangRules::jul_2026; }
  bool uses_look_ahead() const { return limits_.sglang.ignore_eos && !limits_.sglang.radix_cache; }
  std::int64_t page_surcharge() const { return july() ? kv_.page_tokens() : 0; }

  NewTokenRatio ratio_;
  bool batch_is_full_ = false;
  Slot chunked_ = kNoSlot;  // its prompt is prefilled in part
  Ended ended_;             // until the batch decodes again
  bool last_was_prefill_ = false;
  bool last_left_chunk_ = false;  // the last prefill batch held a request that is still chunked
  bool last_was_mixed_ = false;
  Ended ended_unmerged_;  // those of the last prefill batch, before it has merged
  int burst_ = 0;         // decode steps since the last look at the queue

  std::vector<Choice> chosen_;
  LookAhead look_ahead_;
  bool look_ahead_built_ = false;
};

SglangScheduler::SglangScheduler(const EngineLimits& limits)
    : BatchingScheduler(limits, {}), ratio_(limits.sglang.schedule_conservativeness) {
  PLATEAU_CHECK(limits.chunk_tokens < 1 || limits.chunk_tokens >= limits.page_tokens,
                "chunked_prefill_size below one page");
}

// The admission rules as they meet a request that has the pool to itself, at the worst point of its
// life (it may have been retracted anywhere): what is refused then would wait for ever.
bool SglangScheduler::fits_alone(std::int64_t input_tokens, std::int64_t max_new_tokens) const {
  const std::int64_t page = kv_.page_tokens();
  const std::int64_t tokens = input_tokens + max_new_tokens;
  if (!uses_look_ahead()) return tokens + page_surcharge() < kv_.capacity_tokens();
  // Prompt and generated tokens are rounded up to pages; worst just past the end of one, if it gets
  // there.
  const std::int64_t rounding = kv_.page_ceil(input_tokens) - input_tokens;
  const bool passes_a_page = rounding + 1 < max_new_tokens;
  return tokens + (passes_a_page ? page - 1 : rounding) + 1 < kv_.capacity_tokens();
}

void SglangScheduler::request_ended(const ActiveRequest& active, bool by_prefill) {
  // An overlapping host has merged the batch before it learns what the batch gave.
  const bool unmerged = by_prefill && !overlaps();
  Ended& ended = unmerged ? ended_unmerged_ : ended_;
  ++ended.count;
  ended.left += clip(active.request.max_new_tokens - active.request.output_tokens);
}

bool SglangScheduler::form_step() {
  merge_last_prefill();
  const bool look = !limits_.sglang.honour_continuous_decode_steps || burst_ == 0 ||
                    burst_ >= limits_.num_continuous_decode_steps;
  if (look) {
    burst_ = 0;
    if (form_prefill()) return true;
  }
  if (form_decode()) return true;
  burst_ = 0;
  if (!in_flight()) ratio_.reset();
  return false;
}

// A. (The requests themselves joined when the batch was launched.)
void SglangScheduler::merge_last_prefill() {
  if (!last_was_prefill_) return;
  std::int64_t dropped = ended_unmerged_.count;
  ended_unmerged_ = {};
  if (last_was_mixed_) {  // the running requests sat in it, so they are filtered with it
    dropped += ended_.count;
    ended_ = {};
  }
  if (dropped > 0 || last_left_chunk_) batch_is_full_ = false;
  last_was_prefill_ = false;
}

// C.
bool SglangScheduler::form_decode() {
  if (ended_.count > 0) batch_is_full_ = false;
  ended_ = {};
  if (running_.size() == 0) {
    batch_is_full_ = false;
    return false;
  }
  if (running_.pages_needed() > kv_.free_pages()) {
    retract_until_fits(0, chunked_ == kNoSlot ? 1 : 0);
    if (running_.size() == 0) return form_prefill();
  } else {
    ratio_.decay();
  }
  launch();
  decode_running();
  ++burst_;
  return true;
}

// Retracts the requests with the fewest generated tokens, on ties the longest prompt, then the
// latest, until the next decode step fits beside `other_pages`.
void SglangScheduler::retract_until_fits(std::int64_t other_pages, std::size_t keep) {
  std::vector<Slot> order = running_.slots();
  std::stable_sort(order.begin(), order.end(), [this](Slot a, Slot b) {
    const std::int64_t generated_a = known_generated(a);
    const std::int64_t generated_b = known_generated(b);
    if (generated_a != generated_b) return generated_a > generated_b;
    return table_[a].request.input_tokens < table_[b].request.input_tokens;
  });
  while (order.size() > keep && running_.pages_needed() + other_pages > kv_.free_pages()) {
    retract(order.back());
    waiting_.push_back(order.back());
    order.pop_back();
  }
  std::int64_t generated = 0;
  std::int64_t max_new = 0;
  for (const Slot slot : order) {
    generated += known_generated(slot);
    max_new += table_[slot].request.max_new_tokens;
  }
  retraction().new_token_ratio_before = ratio_.value();
  if (!order.empty()) ratio_.estimate(generated, max_new, static_cast<std::int64_t>(order.size()));
  retraction().new_token_ratio_after = ratio_.value();
  batch_is_full_ = false;
}

// B.
bool SglangScheduler::form_prefill() {
  if ((batch_is_full_ || waiting_.empty()) && chunked_ == kNoSlot) return false;
  if (batch_size() >= limits_.max_running && chunked_ == kNoSlot) {
    batch_is_full_ = true;
    return false;
  }
  chosen_.clear();
  look_ahead_built_ = false;
  PrefillBudget budget = new_budget();
  const bool memory_left = chunked_ == kNoSlot || continue_chunked(budget);
  if (memory_left) choose_from_queue(budget);
  if (chosen_.empty()) return false;
  launch_prefill();
  return true;
}

PrefillBudget SglangScheduler::new_budget() const {
  const std::int64_t mixed = limits_.sglang.mixed_chunk ? batch_size() : 0;
  PrefillBudget budget;
  const bool chunking = limits_.chunk_tokens >= 1;
  if (chunking) budget.chunk = limits_.chunk_tokens - mixed;
  if (!july() || !chunking) budget.input = limits_.sglang.max_prefill_tokens - mixed;
  budget.free = kv_.free_tokens();
  budget.current_offset = mixed;
  budget.total_offset =
      ratio_.value() * static_cast<double>(known_left_sum()) + static_cast<double>(mixed);
  return budget;
}

// Sum over the batch of clip(max_new - generated), as far as the host knows.
std::int64_t SglangScheduler::known_left_sum() const {
  const std::int64_t steps = running_.steps();
  const std::int64_t lag = decode_in_flight() ? 1 : 0;
  const auto& groups = running_.limit_groups();
  const auto& fresh = prefilled_in_flight();
  if (groups.empty()) return ended_.left;
  if (groups.front().step - steps < kClipMaxNewTokens) {  // nothing is clipped
    const auto lagging = lag == 1 ? running_.size() : static_cast<std::int64_t>(fresh.size());
    return running_.limit_step_sum() - running_.size() * steps + lagging + ended_.left;
  }
  std::int64_t sum = ended_.left;
  for (const LimitGroup& group : groups) sum += clip(group.step - steps + lag) * group.count;
  if (lag == 1) return sum;
  for (const Slot slot : fresh) {
    const std::int64_t left = table_[slot].request.max_new_tokens - running_.generated(slot);
    sum += clip(left + 1) - clip(left);
  }
  return sum;
}

// The chunked request goes first. False: the pool has no room for more requests beside it.
bool SglangScheduler::continue_chunked(PrefillBudget& budget) {
  const Slot slot = chunked_;
  const std::int64_t left = prefill_left(slot);
  std::int64_t tokens = left;
  if (budget.chunk && left > *budget.chunk) {
    tokens = kv_.page_floor(std::max<std::int64_t>(*budget.chunk, 0));
  }
  const bool fits = kv_.pages_for(tokens) <= kv_.free_pages();
  if (!fits) tokens = kv_.free_tokens();
  if (tokens == 0) return false;
  if (tokens == left) chunked_ = kNoSlot;
  choose(slot, tokens, budget);
  return fits;
}

void SglangScheduler::choose_from_queue(PrefillBudget& budget) {
  while (!waiting_.empty()) {
    if (static_cast<std::int64_t>(chosen_.size()) >= limits_.max_running - batch_size()) {
      batch_is_full_ = true;
      return;
    }
    const Admission admission = admit(waiting_.front(), budget);
    if (admission == Admission::no_token) batch_is_full_ = true;
    if (admission != Admission::next) return;
  }
}

// Chooses the first of the queue if the rules let it in. no_token and other may also follow an
// admission: this one was the last.
Admission SglangScheduler::admit(Slot slot, PrefillBudget& budget) {
  const ActiveRequest& active = table_[slot];
  const std::int64_t extend = prefill_left(slot);
  const std::int64_t paged = kv_.page_ceil(extend);
  if (uses_look_ahead()) {
    if (paged > budget.current() || static_cast<double>(paged) > budget.total() ||
        !look_ahead_admits(slot, budget.current() - paged)) {
      return Admission::no_token;
    }
  } else {
    const std::int64_t left = active.request.max_new_tokens - active.generated;
    if (static_cast<double>(extend + clip(left) + page_surcharge()) >= budget.total()) {
      return Admission::no_token;
    }
    if (budget.input && paged >= *budget.input && !chosen_.empty()) return Admission::other;
  }
  std::int64_t tokens = extend;
  if (budget.chunk && extend > *budget.chunk) {
    tokens = kv_.page_floor(std::max<std::int64_t>(*budget.chunk, 0));
    if (tokens == 0) return Admission::other;
    chunked_ = slot;
  }
  waiting_.pop_front();
  choose(slot, tokens, budget);
  if (budget.total() <= 0 || budget.current() <= 0) return Admission::no_token;
  return budget.used_up() ? Admission::other : Admission::next;
}

// Takes the next `tokens` of the request's prompt into the batch. Its output is reserved with its
// last chunk.
void SglangScheduler::choose(Slot slot, std::int64_t tokens, PrefillBudget& budget) {
  const ActiveRequest& active = table_[slot];
  const std::int64_t paged = kv_.page_ceil(tokens);
  const std::int64_t charged = paged + page_surcharge();
  const std::int64_t output = slot == chunked_ ? 0 : clip(active.request.max_new_tokens);
  budget.current_offset += charged;
  budget.total_offset += static_cast<double>(charged + output);
  if (budget.chunk) *budget.chunk -= paged;
  if (budget.input) *budget.input -= paged;
  chosen_.push_back({slot, tokens});
  if (look_ahead_built_) add_to_look_ahead(slot);
}

bool SglangScheduler::look_ahead_admits(Slot slot, std::int64_t current) {
  if (!look_ahead_built_) build_look_ahead();
  const ActiveRequest& active = table_[slot];
  return look_ahead_.admits(active.request.max_new_tokens - active.generated,
                            active.request.input_tokens + active.generated, current);
}

void SglangScheduler::build_look_ahead() {
  look_ahead_.clear();
  const std::int64_t lag = decode_in_flight() ? 1 : 0;
  const std::int64_t known_steps = running_.steps() - lag;
  const auto& groups = running_.limit_groups();
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    look_ahead_.add(group->step - known_steps, group->count,
                    group->offset + group->count * known_steps);
  }
  if (lag == 0) {  // the host does not know the first token of those prefilled right now
    for (const Slot slot : prefilled_in_flight()) {
      const Request& request = table_[slot].request;
      const std::int64_t generated = running_.generated(slot);
      const std::int64_t left = request.max_new_tokens - generated;
      const std::int64_t held = request.input_tokens + generated;
      look_ahead_.remove(left, held);
      look_ahead_.add(left + 1, 1, held - 1);
    }
  }
  for (const Choice& choice : chosen_) add_to_look_ahead(choice.slot);
  look_ahead_built_ = true;
}

void SglangScheduler::add_to_look_ahead(Slot slot) {
  const ActiveRequest& active = table_[slot];
  look_ahead_.add(active.request.max_new_tokens - active.generated, 1,
                  active.request.input_tokens + active.generated);
}

void SglangScheduler::launch_prefill() {
  bool mixed = false;
  if (limits_.sglang.mixed_chunk) {
    ended_ = {};
    std::int64_t pages = 0;
    for (const Choice& choice : chosen_) pages += kv_.pages_for(choice.tokens);
    if (running_.pages_needed() + pages > kv_.free_pages()) retract_until_fits(pages, 0);
    mixed = running_.size() > 0;
  }
  launch();
  if (mixed) decode_running();
  for (const Choice& choice : chosen_) prefill(choice.slot, choice.tokens);
  last_was_prefill_ = true;
  last_was_mixed_ = mixed;
  last_left_chunk_ = chunked_ != kNoSlot;
}

}  // namespace

std::unique_ptr<Scheduler> make_sglang_scheduler(const EngineLimits& limits) {
  return std::make_unique<SglangScheduler>(limits);
}

}  // namespace plateau
