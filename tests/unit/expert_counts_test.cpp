#include "calibration/fit/expert_counts.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace plateau;

TEST_CASE("expert counts: balanced rows touch every expert from E/k tokens on") {
  for (const auto& [tokens, active] :
       {std::pair{1, 8}, {2, 16}, {8, 64}, {31, 248}, {32, 256}, {33, 256}, {2048, 256}}) {
    CAPTURE(tokens);
    const ExpertCounts counts = expert_counts(256, 8, tokens, "balanced");
    CHECK(counts.active == active);
  }
  CHECK(expert_counts(256, 8, 32, "balanced").max_over_mean == 1);
  CHECK(expert_counts(256, 8, 48, "balanced").max_over_mean == doctest::Approx(2 / 1.5));
  // A stride that does not divide: 160 experts, top 8 -> 20; 512, top 22 -> 24.
  CHECK(expert_counts(160, 8, 20, "balanced").active == 160);
  CHECK(expert_counts(512, 22, 1, "balanced").active == 22);
  CHECK(expert_counts(8, 8, 1, "balanced").active == 8);
}

TEST_CASE("expert counts: the power law touches what its published means say") {
  // E = 256, k = 8, alpha 1.01: 181 at 64 tokens, 214 at 256; hottest over mean 4.1 at 64 and 8.2
  // at 4096; alpha 1.2: 5.0 and 15.3.
  CHECK(expert_counts(256, 8, 64, "power_law_1.01").active == doctest::Approx(181).epsilon(0.02));
  CHECK(expert_counts(256, 8, 256, "power_law_1.01").active == doctest::Approx(214).epsilon(0.02));
  CHECK(expert_counts(256, 8, 64, "power_law_1.01").max_over_mean ==
        doctest::Approx(4.1).epsilon(0.15));
  CHECK(expert_counts(256, 8, 4096, "power_law_1.2").max_over_mean ==
        doctest::Approx(15.3).epsilon(0.1));
  CHECK(expert_counts(256, 8, 1, "power_law_1.2").active == 8);
}

TEST_CASE("expert counts: the same on every call, and bounded by rows and experts") {
  for (const int tokens : {1, 2, 4, 16, 64, 1024}) {
    CAPTURE(tokens);
    const ExpertCounts counts = expert_counts(128, 8, tokens, "power_law_1.2");
    CHECK(counts.active <= std::min(128, 8 * tokens));
    CHECK(counts.active >= 8);
    CHECK(counts.active == expert_counts(128, 8, tokens, "power_law_1.2").active);
    // No expert gets more rows than there are tokens.
    CHECK(counts.max_over_mean <= 128.0 / 8 + 1e-9);
  }
}

TEST_CASE("expert counts: unknown distributions and impossible shapes are refused") {
  CHECK_THROWS_AS(expert_counts(8, 2, 4, "uniform"), std::invalid_argument);
  CHECK_THROWS_AS(expert_counts(8, 2, 4, "power_law_x"), std::invalid_argument);
  CHECK_THROWS_AS(expert_counts(8, 2, 4, "power_law_0"), std::invalid_argument);
  CHECK_THROWS_AS(expert_counts(8, 9, 4, "balanced"), std::invalid_argument);
  CHECK_THROWS_AS(expert_counts(8, 2, 0, "balanced"), std::invalid_argument);
}
