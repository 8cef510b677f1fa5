#include "sim/serving/look_ahead.h"

#include <algorithm>

#include "sim/engine/check.h"

namespace plateau {

void LookAhead::clear() {
  groups_.clear();
  size_ = 0;
}

void LookAhead::add(std::int64_t left, std::int64_t count, std::int64_t held) {
  if (left <= 0) return;
  size_ += count;
  const auto before = [](const Group& group, std::int64_t key) { return group.left < key; };
  auto at = std::lower_bound(groups_.begin(), groups_.end(), left, before);
  if (at == groups_.end() || at->left != left) at = groups_.insert(at, {left, 0, 0});
  at->count += count;
  at->held += held;
}

void LookAhead::remove(std::int64_t left, std::int64_t held) {
  if (left <= 0) return;
  const auto before = [](const Group& group, std::int64_t key) { return group.left < key; };
  const auto at = std::lower_bound(groups_.begin(), groups_.end(), left, before);
  PLATEAU_CHECK(at != groups_.end() && at->left == left && at->count > 0, "no such request");
  --size_;
  at->held -= held;
  if (--at->count == 0) groups_.erase(at);
}

bool LookAhead::admits(std::int64_t left, std::int64_t held, std::int64_t current_tokens) const {
  std::int64_t free = current_tokens;
  std::int64_t batch = size_ + (left > 0 ? 1 : 0);
  bool candidate_ahead = left > 0;
  for (const Group& group : groups_) {
    if (candidate_ahead && left <= group.left) {
      if (free - left * batch <= batch) return false;
      candidate_ahead = false;
      free += held;
      --batch;
    }
    if (free - group.left * batch <= batch) return false;
    free += group.held;
    batch -= group.count;
  }
  return !candidate_ahead || free - left * batch > batch;
}

}  // namespace plateau
