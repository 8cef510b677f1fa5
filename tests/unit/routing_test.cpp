// The expert load that a step asks for: memory, dense models, samples of layers, exact draws,
// summaries.
#include "models/routing.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "models/batch_curve.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

RoutingLaw zipf(double alpha) {
  RoutingLaw law;
  law.kind = Kind::zipf;
  law.alpha = alpha;
  return law;
}

}  // namespace

TEST_CASE("a batch always costs the same, whatever was asked before") {
  ExpertRouting one(zipf(0.8), {64, 6, 4}, 3), other(zipf(0.8), {64, 6, 4}, 3);
  const ExpertLoad first = one.load(100);
  for (int batch = 1; batch < 200; batch += 7) {
    other.load(batch);
  }
  ExpertRouting copy = other;
  CHECK(other.load(100).active_experts == first.active_experts);
  CHECK(other.load(100).rows_max_over_mean == first.rows_max_over_mean);
  CHECK(copy.load(100).rows_max_over_mean == first.rows_max_over_mean);
  CHECK(copy.rank_max_over_mean(100, 8) == one.rank_max_over_mean(100, 8));
}

TEST_CASE("a dense model and an empty step have empty loads") {
  ExpertRouting dense({}, {0, 0, 0}, 1);
  CHECK(dense.load(32).active_experts == 0);
  CHECK(dense.load(32).tokens == 32);
  CHECK(dense.summary(32).active_mean == 0);
  CHECK(dense.active_deviation(32) == 0);
  ExpertRouting routing({}, {16, 2, 3}, 1);
  CHECK(routing.load(0).active_experts == 0);
  CHECK(routing.load(0).rows_max_over_mean == 1);
  CHECK(routing.padded_rows(0, 16) == 0);
}

TEST_CASE("an impossible law is refused in words") {
  CHECK_THROWS_WITH_AS(ExpertRouting({}, {4, 5, 1}, 1),
                       "routing uniform: a token must select between 1 and all experts",
                       std::invalid_argument);
}

TEST_CASE("a sample of layers is taken evenly from replayed counts") {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = {{1, 1}, {9, 1}, {1, 1}, {1, 9}};
  ExpertRouting all(law, {2, 1, 4}, 1), sample(law, {2, 1, 4}, 1, 2);
  CHECK(all.layers_considered() == 4);
  CHECK(sample.layers_considered() == 2);
  CHECK(sample.load(2).active_experts == doctest::Approx(1.5));  // rows 0 and 2
  CHECK(all.load(2).active_experts == doctest::Approx((1.5 + 1.18) / 2));
  CHECK(sample.summary(2).layers == 2);
}

TEST_CASE("exact loads are the means of one draw of every token of every layer") {
  ExpertRouting routing(zipf(1), {32, 4, 5}, 9, 0, true);
  const std::vector<ExpertCounts> layers = routing.draw(20, 0);
  REQUIRE(layers.size() == 5);
  double active = 0, most = 0;
  for (const ExpertCounts& counts : layers) {
    active += static_cast<double>(active_experts(counts)) / 5;
    most += max_over_mean(counts) / 5;
  }
  CHECK(routing.load(20).active_experts == doctest::Approx(active));
  CHECK(routing.load(20).rows_max_over_mean == doctest::Approx(most));
  CHECK(routing.summary(20).method == "every token drawn");
  CHECK(routing.draw(20, 1) != layers);
}

TEST_CASE("a summary over steps weighs batches by their steps") {
  ExpertRouting routing({}, {64, 4, 2}, 1);
  const ExpertLoadSummary small = routing.summary(8, 8), large = routing.summary(128, 8);
  const ExpertLoadSummary both = routing.summary({{8, 3}, {128, 1}}, 8);
  CHECK(both.tokens == doctest::Approx(0.75 * 8 + 0.25 * 128));
  CHECK(both.tokens_per_expert_mean == doctest::Approx(38.0 * 4 / 64));
  CHECK(both.active_mean == doctest::Approx(0.75 * small.active_mean + 0.25 * large.active_mean));
  CHECK(both.rank_max_over_mean ==
        doctest::Approx(0.75 * small.rank_max_over_mean + 0.25 * large.rank_max_over_mean));
  CHECK(both.tokens_per_expert_p50 == small.tokens_per_expert_p50 + 1);  // 0, then 1 of the pool
  CHECK(both.tokens_per_expert_p99 < large.tokens_per_expert_p99);
  CHECK(both.layers == 2);
}

TEST_CASE("the percentiles of tokens per expert are those of the distribution") {
  ExpertRouting routing({}, {256, 8, 1}, 1);
  const ExpertLoadSummary summary = routing.summary(512);  // Binomial(512, 1/32)
  CHECK(summary.tokens_per_expert_mean == 16);
  CHECK(summary.tokens_per_expert_p50 == 16);
  CHECK(summary.tokens_per_expert_p99 == 26);
  const std::vector<double> chance = routing.tokens_per_expert(512);
  CHECK(std::accumulate(chance.begin(), chance.end(), 0.0) == doctest::Approx(1));
}

TEST_CASE("a batch curve is exact at its nodes and follows powers between") {
  int evaluations = 0;
  const auto cube = [&evaluations](std::int64_t batch) {
    ++evaluations;
    return std::pow(static_cast<double>(batch), 3.0);
  };
  BatchCurve curve(8);
  for (const double batch : {1.0, 3.0, 7.0, 8.0, 12.0, 16.0, 24.0, 2.5, 7.9, 9.0, 13.0, 1000.0}) {
    CHECK(curve.at(batch, cube) == doctest::Approx(batch * batch * batch));
  }
  CHECK(evaluations == 10);  // 1 2 3 7 8 12 16 24 768 1024
}
