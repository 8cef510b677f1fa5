// Is the verdict on a growing queue right as often as it says? One-server queues by Lindley's
// recursion, their arrivals from this project's own streams.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "models/random.h"
#include "sim/report/saturation.h"

using namespace plateau;

namespace {

using Verdict = SaturationReport::Verdict;

struct Queue {
  double rho = 0.8;
  double arrival_shape = 1;  // gamma gaps
  bool fixed_service = false;
  int requests = 2000;
};

Verdict verdict_of(const Queue& queue, std::uint64_t seed) {
  const RandomStream gaps(seed, "arrivals");
  const RandomStream services(seed, "services");
  Backlog backlog;
  double time = 0;
  double free_at = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(queue.requests); ++i) {
    Random gap = gaps.at(i);
    Random service = services.at(i);
    if (i > 0) time += gamma(gap, queue.arrival_shape) / queue.arrival_shape;
    const double start = std::max(time, free_at);
    free_at = start + queue.rho * (queue.fixed_service ? 1.0 : exponential(service, 1.0));
    backlog.add_request(to_sim_time(time), to_sim_time(free_at));
    // The wait as request-seconds in the queue, booked where it ended.
    backlog.add_waiting(to_sim_time(start), to_sim_time(start - time), 1);
  }
  return backlog.report().verdict;
}

double share_growing(const Queue& queue) {
  constexpr int kRuns = 400;
  int growing = 0;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const Verdict verdict = verdict_of(queue, seed);
    CHECK(verdict != Verdict::unknown);
    growing += verdict == Verdict::stable ? 0 : 1;
  }
  return static_cast<double>(growing) / kRuns;
}

}  // namespace

TEST_CASE("a stable queue is called growing no more often than the rule allows") {
  // 400 runs at 2.5 %: 10 expected, 21 or more with probability 0.001 (binomial).
  for (const double rho : {0.3, 0.6, 0.8, 0.9})
    CHECK_MESSAGE(share_growing({rho, 1, false, 2000}) <= 20.0 / 400, rho);
  CHECK(share_growing({0.7, 1, true, 2000}) <= 20.0 / 400);
  CHECK(share_growing({0.7, 0.25, false, 2000}) <= 20.0 / 400);  // bursty
}

TEST_CASE("an overloaded queue is called growing, the sooner the more it is overloaded") {
  CHECK(share_growing({1.5, 1, false, 2000}) >= 0.99);
  CHECK(share_growing({1.3, 1, false, 2000}) >= 0.95);
  CHECK(share_growing({1.2, 1, true, 2000}) >= 0.95);
  CHECK(share_growing({1.1, 1, false, 20000}) >= 0.95);
  CHECK(share_growing({1.1, 1, false, 200}) <= 0.5);  // too short to tell
}

TEST_CASE("a queue that only drifts is somewhere between") {
  const double share = share_growing({1.0, 1, false, 2000});
  MESSAGE("called growing at utilisation 1: " << share);
  CHECK(share <= 0.25);
}
