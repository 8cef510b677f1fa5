// Do the expected loads agree with loads drawn token by token?
//
// Active experts within 0.5 %, the bar for step time: so many layers are drawn that four standard
// errors of their mean are below 0.5 %, and the difference must stay below four standard errors
// (chance of a false alarm 6e-5 each; about 100 checks, fixed seed). power_law's expectation is
// itself an average of generated layers with a standard error of 0.15 %: its difference must stay
// below 0.5 % + four standard errors of both.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/inclusion.h"
#include "models/routing.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

constexpr RoutingSize kSize{256, 8, 8};
constexpr double kBar = 0.005;

// Mean of a figure over drawn layers.
struct Figure {
  double sum = 0, square = 0, n = 0;

  void add(double x) {
    sum += x;
    square += x * x;
    n += 1;
  }
  double mean() const { return sum / n; }
  double deviation() const { return std::sqrt(std::max(0.0, square / n - mean() * mean())); }
  double error() const { return deviation() / std::sqrt(n); }
};

struct Drawn {
  Figure active, max_over_mean, rank_max, padded;
  double p50 = 0, p99 = 0;
};

Drawn draw_layers(ExpertRouting& routing, std::int64_t batch, double least) {
  Drawn drawn;
  std::vector<std::int64_t> pool;
  for (std::uint64_t step = 0; drawn.active.n < least; ++step) {
    for (const ExpertCounts& counts : routing.draw(batch, step)) {
      drawn.active.add(static_cast<double>(active_experts(counts)));
      drawn.max_over_mean.add(max_over_mean(counts));
      drawn.rank_max.add(rank_max_over_mean(counts, 8));
      drawn.padded.add(static_cast<double>(padded_rows(counts, 16)));
      if (pool.size() < 200000) {
        pool.insert(pool.end(), counts.begin(), counts.end());
      }
    }
  }
  std::sort(pool.begin(), pool.end());
  drawn.p50 = static_cast<double>(pool[pool.size() / 2]);
  drawn.p99 = static_cast<double>(pool[pool.size() * 99 / 100]);
  return drawn;
}

// Within `bias` of each other, or explained by four standard errors of the drawn mean.
void check_near(double expected, const Figure& drawn, double bias) {
  CHECK(std::abs(expected - drawn.mean()) <= bias * drawn.mean() + 4 * drawn.error() + 1e-9);
}

void check_agreement(const RoutingLaw& law, double most_skewed_batch = 2048) {
  ExpertRouting routing(law, kSize, 4);
  for (const std::int64_t batch : {1, 2, 4, 8, 32, 128, 512, 2048}) {
    if (static_cast<double>(batch) > most_skewed_batch) {
      continue;
    }
    CAPTURE(name_of(law.kind));
    CAPTURE(law.alpha);
    CAPTURE(batch);
    const auto tokens = static_cast<double>(batch);
    const double expected = routing.load(tokens).active_experts;
    const double deviation = routing.active_deviation(tokens) * std::sqrt(kSize.layers);
    const double layers = std::pow(4 * deviation / (kBar * expected), 2);
    const Drawn drawn = draw_layers(routing, batch, std::max(64.0, layers));
    const double error = deviation / std::sqrt(drawn.active.n);
    const double own = law.kind == Kind::power_law ? kBar + 4 * 0.0015 : 0;
    CHECK(4 * error <= kBar * expected);
    CHECK(std::abs(drawn.active.mean() - expected) <= 4 * error + own * expected + 1e-9);
    // The rest of the summary is approximate or interpolated; power_law's tails are heavy.
    const double heavy = law.kind == Kind::power_law ? 0.03 : 0;
    check_near(routing.load(tokens).rows_max_over_mean, drawn.max_over_mean, 0.02 + heavy);
    check_near(routing.rank_max_over_mean(tokens, 8), drawn.rank_max, 0.02 + heavy);
    check_near(routing.padded_rows(tokens, 16), drawn.padded, 0.002 + heavy);
    const ExpertLoadSummary summary = routing.summary(tokens);
    CHECK(std::abs(summary.tokens_per_expert_p50 - drawn.p50) <= 1 + 0.02 * drawn.p50);
    CHECK(std::abs(summary.tokens_per_expert_p99 - drawn.p99) <= 1 + (0.03 + heavy) * drawn.p99);
  }
}

}  // namespace

TEST_CASE("expected loads agree with drawn ones: uniform") { check_agreement({}); }

TEST_CASE("expected loads agree with drawn ones: two-level log-normal") {
  check_agreement({Kind::two_level_lognormal, 0, 0.55, 0.5, 8, {}});
  check_agreement({Kind::two_level_lognormal, 0, 0, 1.2, 1, {}});
}

TEST_CASE("expected loads agree with drawn ones: zipf with exact inclusion") {
  check_agreement({Kind::zipf, 0.47, 0, 0, 1, {}});
  check_agreement({Kind::zipf, 1.2, 0, 0, 1, {}});
}

TEST_CASE("expected loads agree with drawn ones: zipf by Gumbel top-k") {
  check_agreement({Kind::zipf_gumbel, 0.6, 0, 0, 1, {}});
  check_agreement({Kind::zipf_gumbel, 1.2, 0, 0, 1, {}});
  check_agreement({Kind::zipf_gumbel, 2.0, 0, 0, 1, {}}, 128);  // beyond, drawing takes seconds
}

TEST_CASE("expected loads agree with drawn ones: power law") {
  check_agreement({Kind::power_law, 1.01, 0, 0, 1, {}});
  check_agreement({Kind::power_law, 1.2, 0, 0, 1, {}});
}

TEST_CASE("expected loads agree with drawn ones: replay") {
  RoutingLaw law{Kind::replay, 0, 0, 0, 1, {}};
  for (int layer = 0; layer < 8; ++layer) {
    law.counts.emplace_back();
    for (int i = 0; i < 256; ++i) {
      law.counts.back().push_back(1 + (i * 37 + layer * 11) % 256 * (i % 7));
    }
  }
  check_agreement(law);
}

TEST_CASE("the deviation of active experts over draws is that of drawn tokens") {
  // Identical layers, so that the spread between draws is that of the tokens alone. 4000 draws: the
  // sample deviation itself is known to 1.1 %; Hajek's approximation may be off by some per cent.
  for (const RoutingLaw& law :
       {RoutingLaw{Kind::uniform, 0, 0, 0, 1, {}}, RoutingLaw{Kind::zipf, 0.6, 0, 0, 1, {}},
        RoutingLaw{Kind::zipf_gumbel, 1.2, 0, 0, 1, {}}}) {
    ExpertRouting routing(law, {128, 8, 4}, 2);
    for (const std::int64_t batch : {4, 32, 64}) {
      CAPTURE(name_of(law.kind));
      CAPTURE(batch);
      const Drawn drawn = draw_layers(routing, batch, 4000);
      CHECK(routing.active_deviation(static_cast<double>(batch)) * 2 ==
            doctest::Approx(drawn.active.deviation()).epsilon(0.08));
    }
  }
}

TEST_CASE("exact inclusion stays exact under strong skew, expert by expert") {
  // Binomial counts of 40,000 tokens: 4.5 deviations, chance of a false alarm 7e-6 each, 2 x 64
  // experts.
  for (const double alpha : {0.6, 1.5}) {
    RoutingLaw law{Kind::replay, 0, 0, 0, 1, {{}}};
    for (int rank = 1; rank <= 64; ++rank) {
      law.counts[0].push_back(std::pow(rank, -alpha));
    }
    const std::int64_t tokens = 40000;
    ExpertRouting routing(law, {64, 6, 1}, 1);
    const ExpertCounts counts = routing.draw(tokens, 0)[0];
    const std::vector<double> inclusion = capped_inclusion(law.counts[0], 6);
    for (std::size_t i = 0; i < 64; ++i) {
      const double mean = static_cast<double>(tokens) * inclusion[i];
      const double deviation = std::sqrt(mean * (1 - inclusion[i]));
      CHECK(std::abs(static_cast<double>(counts[i]) - mean) <= 4.5 * deviation + 1e-9);
    }
  }
}

TEST_CASE("Gumbel top-k by successive picks equals the largest perturbed log weights") {
  // Two ways to draw one law: pooled chi-square over experts would see a bias of 1 %.
  RoutingLaw law{Kind::zipf_gumbel, 1.2, 0, 0, 1, {}};
  const int experts = 16, top_k = 4, tokens = 20000;
  ExpertRouting routing(law, {experts, top_k, 1}, 6);
  const ExpertCounts counts = routing.draw(tokens, 0)[0];
  const std::vector<double> weights = expert_weights(law, experts, 0, 6);
  ExpertCounts perturbed(static_cast<std::size_t>(experts), 0);
  Random random = RandomStream(1, "test/gumbel").at(0);
  for (int token = 0; token < tokens; ++token) {
    std::vector<std::pair<double, std::size_t>> scores;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      scores.emplace_back(-std::log(weights[i]) - gumbel(random), i);
    }
    std::sort(scores.begin(), scores.end());
    for (std::size_t j = 0; j < static_cast<std::size_t>(top_k); ++j) {
      ++perturbed[scores[j].second];
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {  // 4.5 deviations of a difference of binomials
    const double p = static_cast<double>(counts[i] + perturbed[i]) / (2.0 * tokens);
    CHECK(std::abs(static_cast<double>(counts[i] - perturbed[i])) <=
          4.5 * std::sqrt(2.0 * tokens * p * (1 - p)) + 1e-9);
  }
}
