// Closed forms of occupancy theory: active experts, tiles, the straggler.
#include <doctest/doctest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "models/routing.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

struct Active {
  int experts, top_k, batch;
  double mean, deviation;
};

double occupancy_mean(double e, double k, double b) { return e * (1 - std::pow(1 - k / e, b)); }

double occupancy_deviation(double e, double k, double b) {
  const double q = std::pow(1 - k / e, b);
  const double r = std::pow((e - k) * (e - k - 1) / (e * (e - 1)), b);
  return std::sqrt(std::max(0.0, e * q * (1 - q) + e * (e - 1) * (r - q * q)));
}

double padded(double e, double k, int batch, int tile) {
  const boost::math::binomial_distribution<> law(batch, k / e);
  double rows = 0;
  for (int j = 0; j * tile < batch; ++j) {
    rows += tile * e * cdf(complement(law, j * tile));
  }
  return rows;
}

}  // namespace

TEST_CASE("active experts of uniform routing meet the occupancy formula") {
  for (const Active& c : {Active{256, 8, 1, 8, 0},
                          {256, 8, 16, 101.962, 3.682},
                          {256, 8, 32, 163.314, 4.955},
                          {256, 8, 128, 251.601, 2.003},
                          {128, 4, 32, 81.657, 3.509},
                          {8, 2, 4, 5.46875, 0.858}}) {
    ExpertRouting routing({}, {c.experts, c.top_k, 1}, 1);
    const double mean = occupancy_mean(c.experts, c.top_k, c.batch);
    const double deviation = occupancy_deviation(c.experts, c.top_k, c.batch);
    CHECK(routing.load(c.batch).active_experts == doctest::Approx(mean).epsilon(1e-9));
    CHECK(std::abs(routing.active_deviation(c.batch) - deviation) < 1e-6);
    CHECK(std::abs(mean - c.mean) < 0.0006);  // the printed values
    CHECK(std::abs(deviation - c.deviation) < 0.0006);
  }
}

TEST_CASE("drawn active experts of uniform routing have the mean and deviation of occupancy") {
  const int n = 4000;
  for (const int batch : {16, 32}) {
    ExpertRouting routing({}, {256, 8, n}, 5);
    double sum = 0, square = 0;
    for (const ExpertCounts& counts : routing.draw(batch, 0)) {
      const auto a = static_cast<double>(active_experts(counts));
      sum += a / n;
      square += a * a / n;
    }
    const double deviation = occupancy_deviation(256, 8, batch);
    CHECK(std::abs(sum - occupancy_mean(256, 8, batch)) < 4 * deviation / std::sqrt(n));
    // The deviation of a sample deviation is about s / sqrt(2 n).
    CHECK(std::abs(std::sqrt(square - sum * sum) - deviation) < 4 * deviation / std::sqrt(2.0 * n));
  }
}

TEST_CASE("active experts of skewed routing are the sum over inclusion probabilities") {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = {{40, 30, 15, 10, 4, 1}, {1, 1, 1, 1, 1, 1}};
  ExpertRouting routing(law, {6, 2, 2}, 1);
  for (const double b : {1.0, 2.0, 7.0, 100.0}) {
    double want = 0;
    for (const double share : {0.40, 0.30, 0.15, 0.10, 0.04, 0.01}) {
      want += 1 - std::pow(1 - 2 * share, b);
    }
    want += 6 * (1 - std::pow(2.0 / 3, b));
    CHECK(routing.load(b).active_experts == doctest::Approx(want / 2).epsilon(1e-9));
  }
}

TEST_CASE("tokens per expert are binomial and padded rows follow") {
  struct Case {
    int batch, tile;
    double rows;
  };
  for (const Case c : {Case{512, 16, 5874.2}, {512, 64, 16384.0}, {1935, 64, 21202.7}}) {
    ExpertRouting routing({}, {256, 8, 1}, 1);
    CHECK(routing.padded_rows(c.batch, c.tile) ==
          doctest::Approx(padded(256, 8, c.batch, c.tile)).epsilon(1e-9));
    CHECK(std::abs(routing.padded_rows(c.batch, c.tile) - c.rows) < 0.05);
  }
  ExpertRouting routing({}, {256, 8, 1}, 1);
  const std::vector<double> chance = routing.tokens_per_expert(512);
  double mean = 0, square = 0;
  for (std::size_t m = 0; m < chance.size(); ++m) {
    mean += chance[m] * static_cast<double>(m);
    square += chance[m] * static_cast<double>(m * m);
  }
  CHECK(mean == doctest::Approx(16).epsilon(1e-9));
  CHECK(std::sqrt(square - mean * mean) == doctest::Approx(3.937).epsilon(1e-4));
  CHECK(32 * 8 / routing.load(32).active_experts == doctest::Approx(1.567).epsilon(1e-3));
}

TEST_CASE("the straggler of uniform routing follows the order statistics of normal loads") {
  struct Case {
    int ranks, batch;
    double normal_max, printed, brute_force;
  };
  for (const Case c : {Case{8, 64, 1.4236, 1.175, 1.18},
                       {32, 64, 2.0699, 1.510, 1.54},
                       {8, 256, 1.4236, 1.088, 1.09},
                       {32, 256, 2.0699, 1.255, 1.27}}) {
    const double e = 256, k = 8, n = c.ranks, b = c.batch, share = 1 / n;
    const double variance = k * share * (1 - share) * (e - k) / (e - 1);
    const double cv = std::sqrt(b * variance) / (b * k / n);
    const double want = 1 + cv * std::sqrt(n / (n - 1)) * c.normal_max;
    CHECK(std::abs(want - c.printed) < 0.0011);
    ExpertRouting routing({}, {256, 8, 58}, 1);
    const double got = routing.rank_max_over_mean(b, c.ranks);
    CHECK(got == doctest::Approx(want).epsilon(0.03));
    CHECK(got == doctest::Approx(c.brute_force).epsilon(0.03));
  }
}

TEST_CASE(
    "the straggler tends to the largest share of a rank and is 1 without expert parallelism") {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = {{1, 2, 3, 4, 5, 6, 7, 8}};
  ExpertRouting routing(law, {8, 2, 1}, 1);
  CHECK(routing.rank_max_over_mean(4e6, 4) == doctest::Approx(4 * 15.0 / 36).epsilon(0.002));
  CHECK(routing.rank_max_over_mean(64, 1) == 1);
}

TEST_CASE("the hottest expert tends to its share and starts at one token") {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}};
  ExpertRouting routing(law, {8, 2, 2}, 1);
  CHECK(routing.load(1).rows_max_over_mean == doctest::Approx(4));  // 1 token against 2/8
  CHECK(routing.load(4e6).rows_max_over_mean ==
        doctest::Approx((8 * 8.0 / 36 + 1) / 2).epsilon(0.002));
}
