// Are the random numbers distributed as they claim? Pearson's chi-square and moments, fixed seed.
//
// Each check fails a right generator with probability 1e-4 (about 25 checks: 0.25 % for the file).
// The seed is fixed, so a failure means that the code changed.
#include <doctest/doctest.h>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "models/random.h"

using namespace plateau;

namespace {

constexpr double kFalseAlarm = 1e-4;
constexpr int kDraws = 200000;

// Chance of a chi-square at least this large when the draws follow `expected` (cells below 10 are
// pooled).
double p_value(const std::vector<double>& seen, const std::vector<double>& expected) {
  double statistic = 0;
  double pooled_seen = 0, pooled_expected = 0;
  int cells = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    pooled_seen += seen[i];
    pooled_expected += expected[i];
    if (pooled_expected >= 10) {
      statistic +=
          (pooled_seen - pooled_expected) * (pooled_seen - pooled_expected) / pooled_expected;
      pooled_seen = pooled_expected = 0;
      ++cells;
    }
  }
  return boost::math::gamma_q((cells - 1) / 2.0, statistic / 2);
}

// Uniformity of cdf(draw) over 100 equal cells.
double p_continuous(const std::function<double()>& draw, const std::function<double(double)>& cdf) {
  std::vector<double> seen(100, 0.0);
  for (int i = 0; i < kDraws; ++i) {
    const double u = cdf(draw());
    seen[std::min<std::size_t>(99, static_cast<std::size_t>(u * 100))] += 1;
  }
  return p_value(seen, std::vector<double>(100, kDraws / 100.0));
}

double p_discrete(const std::function<std::int64_t()>& draw, const std::function<double(int)>& pdf,
                  int top) {
  std::vector<double> seen(static_cast<std::size_t>(top) + 1, 0.0);
  std::vector<double> expected;
  for (int k = 0; k <= top; ++k) {
    expected.push_back(kDraws * pdf(k));
  }
  for (int i = 0; i < kDraws; ++i) {
    seen.at(static_cast<std::size_t>(draw())) += 1;
  }
  return p_value(seen, expected);
}

}  // namespace

TEST_CASE("uniform doubles and exponential, normal and Gumbel draws pass chi-square") {
  Random random = RandomStream(11, "test/continuous").at(0);
  const boost::math::normal_distribution<> bell;
  CHECK(p_continuous([&] { return random.uniform(); }, [](double x) { return x; }) > kFalseAlarm);
  CHECK(p_continuous([&] { return random.uniform_open(); }, [](double x) { return x; }) >
        kFalseAlarm);
  CHECK(p_continuous([&] { return exponential(random, 2.5); },
                     [](double x) { return -std::expm1(-x / 2.5); }) > kFalseAlarm);
  CHECK(p_continuous([&] { return normal(random); }, [&](double x) { return cdf(bell, x); }) >
        kFalseAlarm);
  CHECK(p_continuous([&] { return gumbel(random); },
                     [](double x) { return std::exp(-std::exp(-x)); }) > kFalseAlarm);
}

TEST_CASE("gamma draws pass chi-square for shapes below and above one") {
  for (const double shape : {0.2, 1.0, 1.8, 40.0}) {
    Random random = RandomStream(12, "test/gamma").at(static_cast<std::uint64_t>(shape * 10));
    const boost::math::gamma_distribution<> law(shape, 1);
    CHECK(p_continuous([&] { return gamma(random, shape); },
                       [&](double x) { return cdf(law, x); }) > kFalseAlarm);
  }
}

TEST_CASE("uniform integers pass chi-square") {
  Random random = RandomStream(13, "test/uniform-int").at(0);
  CHECK(p_discrete([&] { return uniform_int(random, 10, 22) - 10; }, [](int) { return 1.0 / 13; },
                   12) > kFalseAlarm);
}

TEST_CASE("32-bit bounded integers pass chi-square") {
  Random random = RandomStream(13, "test/below").at(0);
  CHECK(p_discrete([&] { return below(random, 7); }, [](int) { return 1.0 / 7; }, 6) > kFalseAlarm);
}

TEST_CASE("Poisson draws pass chi-square on both sides of the method's switch") {
  for (const double mean : {0.3, 9.9, 10.0, 85.0}) {
    Random random = RandomStream(14, "test/poisson").at(static_cast<std::uint64_t>(mean * 10));
    const boost::math::poisson_distribution<> law(mean);
    CHECK(p_discrete([&] { return poisson(random, mean); }, [&](int k) { return pdf(law, k); },
                     200) > kFalseAlarm);
  }
}

TEST_CASE("binomial draws pass chi-square on both sides of the method's switch") {
  struct Case {
    int n;
    double p;
  };
  std::uint64_t index = 0;
  for (const Case c : {Case{1, 0.3}, {32, 0.03}, {99, 0.1}, {101, 0.1}, {200, 0.5}, {2048, 0.9}}) {
    Random random = RandomStream(15, "test/binomial").at(index++);
    const boost::math::binomial_distribution<> law(c.n, c.p);
    CHECK(p_discrete([&] { return binomial(random, c.n, c.p); }, [&](int k) { return pdf(law, k); },
                     c.n) > kFalseAlarm);
  }
}

TEST_CASE("multinomial and Dirichlet draws have the right means") {
  Random random = RandomStream(16, "test/vectors").at(0);
  const std::vector<double> weights = {1, 2, 3, 0.5};
  std::vector<double> seen(4, 0.0), shares(4, 0.0);
  for (int i = 0; i < 2000; ++i) {
    const auto counts = multinomial(random, 100, weights);
    const auto draw = dirichlet(random, weights);
    for (std::size_t j = 0; j < 4; ++j) {
      seen[j] += static_cast<double>(counts[j]);
      shares[j] += draw[j];
    }
  }
  std::vector<double> expected;
  for (const double weight : weights) {
    expected.push_back(200000 * weight / 6.5);
  }
  CHECK(p_value(seen, expected) > kFalseAlarm);
  for (std::size_t j = 0; j < 4;
       ++j) {  // Dirichlet: variance m (1 - m) / (6.5 + 1); 3.9 deviations = 1e-4
    const double m = weights[j] / 6.5;
    CHECK(std::abs(shares[j] / 2000 - m) < 3.9 * std::sqrt(m * (1 - m) / 7.5 / 2000));
  }
}

TEST_CASE("neighbouring indices, replicas and streams are not correlated") {
  const int n = 100000;
  const RandomStream stream(17, "test/a"), other(17, "test/b");
  double by_index = 0, by_replica = 0, by_name = 0;
  for (int i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const double x = stream.at(index).uniform() - 0.5;
    by_index += x * (stream.at(index + 1).uniform() - 0.5);
    by_replica += x * (stream.at(index, 1).uniform() - 0.5);
    by_name += x * (other.at(index).uniform() - 0.5);
  }
  const double limit = 3.9 * std::sqrt(static_cast<double>(n)) / 12;  // 1e-4
  CHECK(std::abs(by_index) < limit);
  CHECK(std::abs(by_replica) < limit);
  CHECK(std::abs(by_name) < limit);
}

TEST_CASE("a shuffle gives every order equally often") {
  Random random = RandomStream(18, "test/shuffle").at(0);
  CHECK(p_discrete(
            [&] {
              std::vector<int> items = {0, 1, 2};
              shuffle(random, items);
              return items[0] * 2 + (items[1] > items[2] ? 1 : 0);
            },
            [](int) { return 1.0 / 6; }, 5) > kFalseAlarm);
}
