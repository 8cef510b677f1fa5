// When the running requests received their last token, kept as groups: after a decode step it is
// one group, to which each prefill adds one. Gives the inter-token gaps of a step without touching
// the requests.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/check.h"
#include "sim/engine/observer.h"

namespace plateau {

class TokenClock {
 public:
  void join(SimTime last_token, std::int64_t count = 1) {
    if (count == 0) return;
    if (groups_.empty() || groups_.back().last != last_token) groups_.push_back({last_token, 0});
    groups_.back().count += count;
  }

  // A request whose last token came at `last_token` leaves.
  void leave(SimTime last_token) {
    for (Group& group : groups_) {
      if (group.last == last_token && group.count > 0) {
        --group.count;
        return;
      }
    }
    PLATEAU_CHECK(false, "a request leaves that never received a token");
  }

  // All receive a token now. Appends the gaps and returns the number of tokens.
  std::int64_t tick(SimTime now, std::vector<TokenGap>& gaps) {
    std::int64_t tokens = 0;
    for (const Group& group : groups_) {
      if (group.count == 0) continue;
      gaps.push_back({now - group.last, group.count});
      tokens += group.count;
    }
    groups_.clear();
    join(now, tokens);
    return tokens;
  }

 private:
  struct Group {
    SimTime last{};
    std::int64_t count = 0;
  };
  std::vector<Group> groups_;
};

}  // namespace plateau
