// Inclusion probabilities against hand-made cases and, for successive selection, against
// enumeration.
#include "models/inclusion.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace plateau;

namespace {

// Every ordered way to pick k experts one after another, proportional to the weights left.
void enumerate(const std::vector<double>& weights, std::vector<bool>& taken, int left,
               double chance, std::vector<double>& inclusion) {
  if (left == 0) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      inclusion[i] += taken[i] ? chance : 0;
    }
    return;
  }
  double rest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    rest += taken[i] ? 0 : weights[i];
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!taken[i] && weights[i] > 0) {
      taken[i] = true;
      enumerate(weights, taken, left - 1, chance * weights[i] / rest, inclusion);
      taken[i] = false;
    }
  }
}

std::vector<double> enumerated(const std::vector<double>& weights, int top_k) {
  std::vector<double> inclusion(weights.size(), 0.0);
  std::vector<bool> taken(weights.size(), false);
  enumerate(weights, taken, top_k, 1, inclusion);
  return inclusion;
}

}  // namespace

TEST_CASE("capped inclusion is proportional where it can be") {
  CHECK(capped_inclusion({1, 2, 3, 4}, 1) == std::vector<double>{0.1, 0.2, 0.3, 0.4});
  // 4/10 x 3 > 1: the hottest is always in, the others share two seats.
  const std::vector<double> capped = capped_inclusion({1, 2, 3, 4}, 3);
  CHECK(capped[3] == 1);
  CHECK(capped[0] == doctest::Approx(1.0 / 3));
  CHECK(capped[1] == doctest::Approx(2.0 / 3));
  CHECK(capped[2] == doctest::Approx(1.0));
  CHECK(capped_inclusion({1, 5, 1}, 3) == std::vector<double>{1, 1, 1});
  CHECK(capped_inclusion({0, 5, 1}, 2) == std::vector<double>{0, 1, 1});
}

TEST_CASE("successive selection's inclusion equals enumeration") {
  const std::vector<std::vector<double>> cases = {
      {1, 1, 1, 1, 1, 1},
      {6, 5, 4, 3, 2, 1},
      {1000, 100, 10, 1, 0.1, 0.01, 0.001},
      {1e6, 1, 1, 1, 1e-6, 0},
      {0.5, 0, 3, 0.25, 0.25, 2, 7},
  };
  for (const std::vector<double>& weights : cases) {
    for (int top_k = 1; top_k <= 4; ++top_k) {
      const std::vector<double> got = plackett_luce_inclusion(weights, top_k);
      const std::vector<double> want = enumerated(weights, top_k);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-8).scale(1e-8));
      }
    }
  }
}

TEST_CASE("successive selection's inclusion adds up to k for many experts and strong skew") {
  for (const double alpha : {0.0, 0.6, 1.2, 3.0, 10.0}) {
    std::vector<double> weights;
    for (int rank = 1; rank <= 256; ++rank) {
      weights.push_back(std::pow(rank, -alpha));
    }
    const std::vector<double> inclusion = plackett_luce_inclusion(weights, 8);
    CHECK(std::accumulate(inclusion.begin(), inclusion.end(), 0.0) == doctest::Approx(8));
    for (std::size_t i = 1; i < inclusion.size(); ++i) {
      CHECK(inclusion[i] <= inclusion[i - 1] + 1e-9);
      CHECK(inclusion[i] >= 0);
    }
  }
}
