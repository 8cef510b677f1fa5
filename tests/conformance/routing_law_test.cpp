// Is every routing law a lawful one? One suite over all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "models/routing.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

// Every law, with little and with strong skew.
std::vector<RoutingLaw> all_laws(int experts) {
  std::vector<RoutingLaw> laws(1);  // uniform
  for (const double alpha : {0.0, 0.6, 1.2, 4.0}) {
    laws.push_back({Kind::zipf, alpha, 0, 0, 1, {}});
    laws.push_back({Kind::zipf_gumbel, alpha, 0, 0, 1, {}});
    laws.push_back({Kind::power_law, alpha, 0, 0, 1, {}});
  }
  laws.push_back({Kind::two_level_lognormal, 0, 0.55, 0.5, 4, {}});
  laws.push_back({Kind::two_level_lognormal, 0, 0, 3, 1, {}});
  RoutingLaw replay{Kind::replay, 0, 0, 0, 1, {}};
  for (int layer = 0; layer < 2; ++layer) {
    replay.counts.emplace_back();
    for (int i = 0; i < experts; ++i) {
      replay.counts.back().push_back(i < experts / 2 ? 0 : 1 + i * i * (layer + 1));
    }
  }
  laws.push_back(replay);
  return laws;
}

std::string words(const RoutingLaw& law) {
  return std::string(name_of(law.kind)) + " alpha " + std::to_string(law.alpha) + " sigma " +
         std::to_string(law.sigma_group) + " " + std::to_string(law.sigma_expert);
}

constexpr RoutingSize kSize{32, 4, 3};

}  // namespace

TEST_CASE("every routing law: drawn loads place each token on k distinct experts") {
  for (const RoutingLaw& law : all_laws(kSize.experts)) {
    CAPTURE(words(law));
    ExpertRouting routing(law, kSize, 1);
    for (const std::int64_t batch : {1, 2, 7, 33, 500}) {
      for (const ExpertCounts& counts : routing.draw(batch, 0)) {
        const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
        CHECK(sum == batch * kSize.top_k);
        CHECK(*std::max_element(counts.begin(), counts.end()) <= batch);
        CHECK(*std::min_element(counts.begin(), counts.end()) >= 0);
        CHECK(active_experts(counts) <= std::min<std::int64_t>(kSize.experts, batch * kSize.top_k));
      }
    }
  }
}

TEST_CASE("every routing law: expected loads keep their bounds") {
  for (const RoutingLaw& law : all_laws(kSize.experts)) {
    CAPTURE(words(law));
    ExpertRouting routing(law, kSize, 1);
    for (const double batch : {1.0, 2.0, 7.0, 7.5, 33.0, 500.0, 8192.0}) {
      const ExpertLoad& load = routing.load(batch);
      const double mean = batch * kSize.top_k / kSize.experts;
      CHECK(load.active_experts >= kSize.top_k - 1e-9);
      CHECK(load.active_experts <= std::min<double>(kSize.experts, batch * kSize.top_k) + 1e-9);
      CHECK(load.rows_max_over_mean >= 1);
      CHECK(load.rows_max_over_mean * mean <= batch * (1 + 1e-9));
      CHECK(routing.active_deviation(batch) >= 0);
      CHECK(routing.rank_max_over_mean(batch, 4) >= 1);
      CHECK(routing.rank_max_over_mean(batch, 4) <= 4);
      CHECK(routing.rank_max_over_mean(batch, 1) == 1);
    }
    CHECK(routing.load(1).active_experts == doctest::Approx(kSize.top_k));
    CHECK(routing.active_deviation(1) < 0.05);
  }
}

TEST_CASE("every routing law: the distribution of tokens per expert adds up") {
  for (const RoutingLaw& law : all_laws(kSize.experts)) {
    CAPTURE(words(law));
    ExpertRouting routing(law, kSize, 1);
    for (const int batch : {1, 9, 300}) {
      const std::vector<double> chance = routing.tokens_per_expert(batch);
      REQUIRE(chance.size() == static_cast<std::size_t>(batch) + 1);
      double sum = 0, mean = 0;
      for (std::size_t m = 0; m < chance.size(); ++m) {
        sum += chance[m];
        mean += chance[m] * static_cast<double>(m);
      }
      CHECK(sum == doctest::Approx(1));
      CHECK(mean == doctest::Approx(batch * 4.0 / 32));
      const double rows = routing.padded_rows(batch, 16);
      CHECK(rows >= batch * 4 * (1 - 1e-9));
      CHECK(rows <= batch * 4 + 15 * routing.load(batch).active_experts * 1.1);
      CHECK(routing.padded_rows(batch, 1) == doctest::Approx(batch * 4));
    }
  }
}

TEST_CASE("every routing law: the same seed gives the same load, another seed other draws") {
  for (const RoutingLaw& law : all_laws(kSize.experts)) {
    CAPTURE(words(law));
    ExpertRouting first(law, kSize, 7), again(law, kSize, 7), other(law, kSize, 8);
    CHECK(first.load(100).active_experts == again.load(100).active_experts);
    CHECK(first.load(100).rows_max_over_mean == again.load(100).rows_max_over_mean);
    CHECK(first.draw(40, 3) == again.draw(40, 3));
    CHECK(first.draw(40, 3) != other.draw(40, 3));
    CHECK(first.draw(40, 3) != first.draw(40, 4));
  }
}

TEST_CASE("every routing law: exact and expected loads are of one kind") {
  for (const RoutingLaw& law : all_laws(kSize.experts)) {
    CAPTURE(words(law));
    ExpertRouting expected(law, {32, 4, 60}, 1), exact(law, {32, 4, 60}, 1, 0, true);
    for (const double batch : {4.0, 64.0}) {
      const double tolerance =
          5 * expected.active_deviation(batch) + 0.01 * expected.load(batch).active_experts;
      CHECK(std::abs(exact.load(batch).active_experts - expected.load(batch).active_experts) <
            tolerance);
      CHECK(exact.summary(batch, 4).rank_max_over_mean ==
            doctest::Approx(expected.summary(batch, 4).rank_max_over_mean).epsilon(0.1));
    }
  }
}

TEST_CASE("every routing law: one expert, one choice, and all experts chosen work") {
  for (const RoutingSize& size :
       {RoutingSize{1, 1, 2}, RoutingSize{4, 4, 2}, RoutingSize{4, 1, 2}}) {
    for (const RoutingLaw& law : all_laws(size.experts)) {
      if (!problems_of(law, size.experts, size.top_k).empty()) {
        continue;
      }
      CAPTURE(words(law));
      CAPTURE(size.experts);
      ExpertRouting routing(law, size, 1);
      CHECK(routing.load(1).active_experts == doctest::Approx(size.top_k));
      CHECK(routing.load(5).active_experts <= size.experts + 1e-9);
      if (size.top_k == size.experts) {
        CHECK(routing.load(5).active_experts == doctest::Approx(size.experts));
        CHECK(routing.load(5).rows_max_over_mean == doctest::Approx(1));
        CHECK(routing.draw(5, 0)[0] == ExpertCounts(static_cast<std::size_t>(size.experts), 5));
      }
    }
  }
}
