// What holds for every popularity: bounds, monotony and concavity of active experts, the effect of
// skew.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/random.h"
#include "models/routing.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

// Any law with fixed popularities (power_law's own skew depends on the batch).
RoutingLaw any_law(int experts) {
  RoutingLaw law;
  law.kind = *rc::gen::element(Kind::uniform, Kind::two_level_lognormal, Kind::zipf,
                               Kind::zipf_gumbel, Kind::replay);
  law.alpha = *rc::gen::inRange(0, 300) / 100.0;
  law.sigma_group = *rc::gen::inRange(0, 200) / 100.0;
  law.sigma_expert = *rc::gen::inRange(0, 200) / 100.0;
  if (law.kind == Kind::replay) {
    law.counts.emplace_back();
    for (int i = 0; i < experts; ++i) {
      law.counts.back().push_back(*rc::gen::inRange(1, 1000));
    }
  }
  return law;
}

RoutingSize any_size() {
  const int experts = *rc::gen::inRange(2, 200);
  return {experts, *rc::gen::inRange(1, std::min(experts, 12) + 1), *rc::gen::inRange(1, 4)};
}

}  // namespace

TEST_CASE("active experts rise with the batch, ever more slowly, within their bounds") {
  CHECK(rc::check([] {
    const RoutingSize size = any_size();
    ExpertRouting routing(any_law(size.experts), size, *rc::gen::arbitrary<std::uint64_t>());
    const int batch = *rc::gen::inRange(2, 3000);
    const double before = routing.load(batch - 1).active_experts;
    const double here = routing.load(batch).active_experts;
    const double after = routing.load(batch + 1).active_experts;
    RC_ASSERT(here >= before - 1e-9);
    RC_ASSERT(after - here <= here - before + 1e-9);
    RC_ASSERT(here <= std::min<double>(size.experts, batch * size.top_k) + 1e-9);
    RC_ASSERT(here >= size.top_k - 1e-9);
  }));
}

TEST_CASE("drawn loads hold every assignment, on distinct experts") {
  CHECK(rc::check([] {
    const RoutingSize size = any_size();
    ExpertRouting routing(any_law(size.experts), size, *rc::gen::arbitrary<std::uint64_t>());
    const std::int64_t batch = *rc::gen::inRange(1, 300);
    for (const ExpertCounts& counts : routing.draw(batch, *rc::gen::inRange(0, 100))) {
      RC_ASSERT(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) ==
                batch * size.top_k);
      RC_ASSERT(*std::max_element(counts.begin(), counts.end()) <= batch);
    }
  }));
}

TEST_CASE("any skew lowers the active experts and raises the hottest") {
  CHECK(rc::check([] {
    const RoutingSize size = any_size();
    ExpertRouting skewed(any_law(size.experts), size, *rc::gen::arbitrary<std::uint64_t>());
    ExpertRouting uniform({}, size, 1);
    const int batch = *rc::gen::inRange(1, 3000);
    RC_ASSERT(skewed.load(batch).active_experts <= uniform.load(batch).active_experts * (1 + 1e-5));
    // The expected maximum is an approximation good to about 1 %.
    RC_ASSERT(skewed.load(batch).rows_max_over_mean >=
              uniform.load(batch).rows_max_over_mean * 0.98);
  }));
}

TEST_CASE("a placement moves load between ranks but never the experts it wakes") {
  CHECK(rc::check([] {
    const RoutingSize size{64, 4, 1};
    RoutingLaw law;
    law.kind = Kind::replay;
    law.counts.emplace_back();
    for (int i = 0; i < size.experts; ++i) {
      law.counts[0].push_back(*rc::gen::inRange(1, 1000));
    }
    RoutingLaw moved = law;
    Random random = RandomStream(*rc::gen::arbitrary<std::uint64_t>(), "test/placement").at(0);
    shuffle(random, moved.counts[0]);
    ExpertRouting first(law, size, 1), second(moved, size, 1);
    const int batch = *rc::gen::inRange(1, 1000);
    RC_ASSERT(std::abs(first.load(batch).active_experts - second.load(batch).active_experts) <
              1e-9);
    RC_ASSERT(std::abs(first.padded_rows(batch, 16) - second.padded_rows(batch, 16)) < 1e-6);
  }));
}
