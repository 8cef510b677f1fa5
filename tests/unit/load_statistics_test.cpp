// Figures of one layer's load, by hand.
#include "models/load_statistics.h"

#include <doctest/doctest.h>

using namespace plateau;

TEST_CASE("figures of a small load") {
  const ExpertCounts counts = {5, 0, 1, 2, 0, 0, 16, 0};
  CHECK(active_experts(counts) == 4);
  CHECK(max_over_mean(counts) == 16.0 / 3);
  CHECK(rank_tokens(counts, 2) == std::vector<std::int64_t>{8, 16});
  CHECK(rank_max_over_mean(counts, 2) == 16.0 / 12);
  CHECK(rank_max_over_mean(counts, 1) == 1);
  CHECK(padded_rows(counts, 1) == 24);
  CHECK(padded_rows(counts, 4) == 8 + 4 + 4 + 16);
  CHECK(padded_rows(counts, 16) == 64);
}

TEST_CASE("an empty load has no skew") {
  const ExpertCounts counts(8, 0);
  CHECK(active_experts(counts) == 0);
  CHECK(max_over_mean(counts) == 1);
  CHECK(rank_max_over_mean(counts, 4) == 1);
  CHECK(padded_rows(counts, 16) == 0);
}

TEST_CASE("contiguous placement spreads experts that ranks do not divide") {
  const ExpertCounts counts = {1, 10, 100, 1000, 10000};
  CHECK(rank_tokens(counts, 2) == std::vector<std::int64_t>{111, 11000});
}
