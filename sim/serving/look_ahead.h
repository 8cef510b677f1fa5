// SGLang's look-ahead admission (schedule_policy.py, the path for ignore_eos without radix cache):
// would the pool survive if the batch, the candidate in it, ran to its end and nobody else joined?
//
// Each request has left_i tokens to generate and holds held_i = prompt + generated tokens. Sorted
// by left ascending, with current = tokens free once the prompts of all chosen requests and of the
// candidate are stored, and bs = n - i, the candidate is rejected if for any i
//   current + sum over j < i of held_j - left_i * bs <= 1 * bs
// (the 1 is the engine's reserve; tokens are counted, not pages, so it is optimistic for pages
// above one token). Among requests of equal left the first is the tightest, so one test per
// distinct left is exact: O(groups) a candidate.
#pragma once

#include <cstdint>
#include <vector>

namespace plateau {

class LookAhead {
 public:
  void clear();
  // `count` requests with `left` each and `held` in all. Those with nothing left hold nobody up:
  // dropped.
  void add(std::int64_t left, std::int64_t count, std::int64_t held);
  // Takes one of them out again.
  void remove(std::int64_t left, std::int64_t held);
  // Whether the candidate may join those added so far (it is not added).
  bool admits(std::int64_t left, std::int64_t held, std::int64_t current_tokens) const;

 private:
  struct Group {
    std::int64_t left = 0;
    std::int64_t count = 0;
    std::int64_t held = 0;
  };
  std::vector<Group> groups_;  // by left, ascending
  std::int64_t size_ = 0;
};

}  // namespace plateau
