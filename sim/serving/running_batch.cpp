#include "sim/serving/running_batch.h"

#include <algorithm>

namespace plateau {

namespace {

std::int64_t positive_mod(std::int64_t value, std::int64_t modulus) {
  const std::int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

// The group of `step` in a list sorted by step, latest first; inserted if there is none.
template <typename Group>
Group& find_or_insert(std::vector<Group>& groups, std::int64_t step) {
  const auto later = [](const Group& group, std::int64_t key) { return group.step > key; };
  auto at = std::lower_bound(groups.begin(), groups.end(), step, later);
  if (at == groups.end() || at->step != step) {
    Group group;
    group.step = step;
    at = groups.insert(at, group);
  }
  return *at;
}

}  // namespace

RunningBatch::RunningBatch(RequestTable& table, std::int64_t page_tokens, bool prefill_emits_token)
    : table_(table),
      page_(page_tokens),
      unstored_(prefill_emits_token ? 1 : 0),
      residues_(static_cast<std::size_t>(page_tokens), 0) {}

std::size_t RunningBatch::residue(Slot slot) const {
  return static_cast<std::size_t>(positive_mod(stored(slot) - steps_, page_));
}

std::int64_t RunningBatch::pages_needed() const {
  return residues_[static_cast<std::size_t>(positive_mod(-steps_, page_))];
}

void RunningBatch::join(Slot slot, std::int64_t generated) {
  ActiveRequest& active = table_[slot];
  active.birth = steps_ - generated;
  active.join_step = steps_;
  active.previous = last_;
  active.next = kNoSlot;
  (last_ == kNoSlot ? first_ : table_[last_].next) = slot;
  last_ = slot;
  ++size_;
  context_tokens_ += stored(slot);
  ++residues_[residue(slot)];
  // One that ends with its prefill is found there.
  if (end_step(slot) > steps_) join_bucket(slot);
  LimitGroup& group = limit_group(limit_step(slot));
  ++group.count;
  group.offset += active.request.input_tokens - active.birth;
  limit_step_sum_ += group.step;
}

void RunningBatch::leave(Slot slot) {
  ActiveRequest& active = table_[slot];
  (active.previous == kNoSlot ? first_ : table_[active.previous].next) = active.next;
  (active.next == kNoSlot ? last_ : table_[active.next].previous) = active.previous;
  --size_;
  context_tokens_ -= stored(slot);
  --residues_[residue(slot)];
  if (active.in_bucket) leave_bucket(slot);
  LimitGroup& group = limit_group(limit_step(slot));
  --group.count;
  group.offset -= active.request.input_tokens - active.birth;
  limit_step_sum_ -= group.step;
  if (group.count == 0) limits_.erase(limits_.begin() + (&group - limits_.data()));
}

void RunningBatch::step() {
  ++steps_;
  context_tokens_ += size_;
}

LimitGroup& RunningBatch::limit_group(std::int64_t step) { return find_or_insert(limits_, step); }

void RunningBatch::join_bucket(Slot slot) {
  ActiveRequest& active = table_[slot];
  Bucket& bucket = find_or_insert(buckets_, end_step(slot));
  active.in_bucket = true;
  active.bucket_previous = bucket.tail;
  active.bucket_next = kNoSlot;
  (bucket.tail == kNoSlot ? bucket.head : table_[bucket.tail].bucket_next) = slot;
  bucket.tail = slot;
}

void RunningBatch::leave_bucket(Slot slot) {
  ActiveRequest& active = table_[slot];
  Bucket& bucket = find_or_insert(buckets_, end_step(slot));
  const Slot previous = active.bucket_previous;
  const Slot next = active.bucket_next;
  (previous == kNoSlot ? bucket.head : table_[previous].bucket_next) = next;
  (next == kNoSlot ? bucket.tail : table_[next].bucket_previous) = previous;
  active.in_bucket = false;
  if (bucket.head == kNoSlot) buckets_.erase(buckets_.begin() + (&bucket - buckets_.data()));
}

void RunningBatch::take_ending(std::int64_t step, std::vector<Slot>& ended) {
  if (buckets_.empty() || buckets_.back().step > step) return;
  PLATEAU_CHECK(buckets_.back().step == step, "a request runs past its end");
  for (Slot slot = buckets_.back().head; slot != kNoSlot; slot = table_[slot].bucket_next) {
    table_[slot].in_bucket = false;
    ended.push_back(slot);
  }
  buckets_.pop_back();
}

std::vector<Slot> RunningBatch::slots() const {
  std::vector<Slot> all;
  all.reserve(static_cast<std::size_t>(size_));
  for (Slot slot = first_; slot != kNoSlot; slot = table_[slot].next) all.push_back(slot);
  return all;
}

}  // namespace plateau
