// What each routing law says of a layer, and which settings it refuses.
#include "models/routing_law.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace plateau;
using Kind = RoutingLaw::Kind;

TEST_CASE("routing laws carry the names that scenarios use") {
  CHECK(std::string(name_of(Kind::uniform)) == "uniform");
  CHECK(std::string(name_of(Kind::two_level_lognormal)) == "two_level_lognormal");
  CHECK(std::string(name_of(Kind::zipf)) == "zipf");
  CHECK(std::string(name_of(Kind::zipf_gumbel)) == "zipf_gumbel");
  CHECK(std::string(name_of(Kind::power_law)) == "power_law");
  CHECK(std::string(name_of(Kind::replay)) == "replay");
}

TEST_CASE("impossible routing settings are named, all together") {
  CHECK(problems_of({}, 256, 8).empty());
  CHECK(problems_of({}, 8, 9).size() == 1);
  CHECK(problems_of({}, 0, 0).size() == 1);
  RoutingLaw law;
  law.kind = Kind::two_level_lognormal;
  law.groups = 3;
  law.sigma_group = -1;
  law.alpha = std::nan("");
  CHECK(problems_of(law, 256, 8).size() == 3);
  law = {};
  law.kind = Kind::replay;
  CHECK(problems_of(law, 4, 2).size() == 1);
  law.counts = {{1, 2, 3, 4}, {1, 2, 3}, {1, -2, 3, 4}, {0, 0, 0, 7}};
  CHECK(problems_of(law, 4, 2).size() == 3);
}

TEST_CASE("Zipf weights are ranks to the power minus alpha in a shuffled order") {
  RoutingLaw law;
  law.kind = Kind::zipf;
  law.alpha = 0.6;
  std::vector<double> first = expert_weights(law, 16, 0, 1);
  const std::vector<double> second = expert_weights(law, 16, 1, 1);
  CHECK(first != second);
  CHECK(expert_weights(law, 16, 0, 1) == first);
  CHECK(expert_weights(law, 16, 0, 2) != first);
  std::sort(first.rbegin(), first.rend());
  for (int rank = 1; rank <= 16; ++rank) {
    CHECK(first[static_cast<std::size_t>(rank - 1)] ==
          doctest::Approx(std::pow(rank, -0.6)).epsilon(1e-12));
  }
}

TEST_CASE("two-level log-normal weights share a factor within a group") {
  RoutingLaw law;
  law.kind = Kind::two_level_lognormal;
  law.sigma_group = 1;
  law.groups = 4;
  const std::vector<double> weights = expert_weights(law, 16, 0, 1);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(weights[i] == weights[i / 4 * 4]);
  }
  CHECK(weights[0] != weights[4]);
}

TEST_CASE("replay repeats the rows of counts over the layers") {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = {{1, 2}, {3, 4}};
  CHECK(expert_weights(law, 2, 0, 1) == std::vector<double>{1, 2});
  CHECK(expert_weights(law, 2, 3, 1) == std::vector<double>{3, 4});
}
