// Which of several engines takes a request: what stands before the replicas of a deployment.
//
//   round_robin   replica 0, 1, 2, ... in turn, blind to their load
//   least_loaded  the replica with the fewest requests waiting and running; ties go to the lowest
//                 number
// The choice is made when the request reaches the server, at no cost in time. Wrong for balancers
// that know prefixes (cache-aware routing) or that see the load late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/scheduler.h"

namespace plateau {

enum class BalancerLaw : std::uint8_t { round_robin, least_loaded };

class Balancer {
 public:
  explicit Balancer(BalancerLaw law) : law_(law) {}

  // Index into `replicas`, which is not empty.
  std::size_t choose(const std::vector<Scheduler*>& replicas) {
    if (law_ == BalancerLaw::round_robin) return next_++ % replicas.size();
    std::size_t best = 0;
    for (std::size_t i = 1; i < replicas.size(); ++i) {
      if (load(*replicas[i]) < load(*replicas[best])) best = i;
    }
    return best;
  }

 private:
  static std::int64_t load(const Scheduler& replica) {
    return replica.queued() + replica.running();
  }

  BalancerLaw law_;
  std::size_t next_ = 0;
};

}  // namespace plateau
