// The binomial distribution against Boost.Math.
#include "models/binomial.h"

#include <doctest/doctest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

using namespace plateau;

TEST_CASE("the binomial distribution function is exact near both ends and within 1e-4 between") {
  for (const int n : {1, 5, 40, 300, 4096, 16384}) {
    for (const double p : {1e-4, 0.01, 0.03125, 0.25, 0.5, 0.9, 0.999}) {
      const boost::math::binomial_distribution<> oracle(n, p);
      const double mean = n * p, deviation = std::sqrt(n * p * (1 - p));
      for (double z = -4; z <= 4; z += 0.5) {
        const int m = static_cast<int>(std::floor(mean + z * deviation));
        const double want = m < 0 ? 0 : m >= n ? 1 : cdf(oracle, m);
        CHECK(std::abs(binomial_cdf(m, n, p) - want) < (m <= 30 || n - m <= 31 ? 1e-10 : 1e-4));
      }
    }
  }
}

TEST_CASE("the binomial distribution function knows its corners") {
  CHECK(binomial_cdf(-1, 10, 0.5) == 0);
  CHECK(binomial_cdf(10, 10, 0.5) == 1);
  CHECK(binomial_cdf(0, 10, 0) == 1);
  CHECK(binomial_cdf(9, 10, 1) == 0);
}

TEST_CASE("binomial probabilities equal Boost.Math and add up to their weight") {
  for (const int n : {1, 8, 300, 5000}) {
    for (const double p : {0.0, 1e-5, 0.03125, 0.5, 0.97, 1.0}) {
      std::vector<double> sums(static_cast<std::size_t>(n) + 1, 0.0);
      add_binomial(n, p, 2, sums);
      const boost::math::binomial_distribution<> oracle(n, p);
      double total = 0;
      for (int m = 0; m <= n; ++m) {
        const double got = sums[static_cast<std::size_t>(m)];
        CHECK(std::abs(got - 2 * pdf(oracle, m)) < 1e-10);
        total += got;
      }
      CHECK(total == doctest::Approx(2).epsilon(1e-10));
    }
  }
}
