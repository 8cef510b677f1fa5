#include "calibration/fit/expert_counts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "calibration/csv.h"
#include "models/random.h"

namespace plateau {
namespace {

constexpr int kDraws = 64;
constexpr std::uint64_t kSeed = 1;

ExpertCounts counts_of(const std::vector<std::int64_t>& rows) {
  ExpertCounts counts;
  counts.active = static_cast<double>(rows.size()) -
                  static_cast<double>(std::count(rows.begin(), rows.end(), std::int64_t{0}));
  const auto sum = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}));
  const auto hottest = static_cast<double>(*std::max_element(rows.begin(), rows.end()));
  counts.max_over_mean = hottest * static_cast<double>(rows.size()) / sum;
  return counts;
}

ExpertCounts balanced(int experts, int top_k, int tokens) {
  const int stride = (experts + top_k - 1) / top_k;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(experts), 0);
  for (int token = 0; token < tokens; ++token) {
    // Below one stride of tokens the generator spreads them over it.
    const int first =
        tokens >= stride ? token : static_cast<int>(static_cast<double>(token) * stride / tokens);
    for (int i = 0; i < top_k; ++i) {
      ++rows[static_cast<std::size_t>((first + i * stride) % experts)];
    }
  }
  return counts_of(rows);
}

// Adds or takes single rows until the sum is right and no expert has more than `tokens`.
void correct_sum(std::vector<std::int64_t>& rows, std::int64_t target, std::int64_t tokens) {
  for (std::int64_t& count : rows) count = std::min(count, tokens);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a] > rows[b]; });
  std::int64_t missing = target - std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  for (std::size_t i = 0; missing > 0; i = (i + 1) % order.size()) {
    if (rows[order[i]] >= tokens) continue;
    ++rows[order[i]];
    --missing;
  }
  for (std::size_t i = 0; missing < 0; i = (i + 1) % order.size()) {
    std::int64_t& count = rows[order[order.size() - 1 - i]];
    if (count == 0) continue;
    --count;
    ++missing;
  }
}

ExpertCounts power_law(int experts, int top_k, int tokens, double alpha) {
  const std::int64_t target = std::int64_t{tokens} * top_k;
  const bool many = target > experts;
  const double low = many ? 1.0 : 0.01;
  const double high = many ? std::max(0.8 * tokens, 1.0) : 2.0;
  const double power = 1 - alpha;
  const RandomStream stream(kSeed, "aiconfigurator power law");
  ExpertCounts mean{0, 0};
  std::vector<double> weights(static_cast<std::size_t>(experts));
  std::vector<std::int64_t> rows(weights.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    Random random = stream.at(static_cast<std::uint64_t>(draw));
    for (double& weight : weights) {
      const double u = random.uniform();
      weight = std::pow((std::pow(high, power) - std::pow(low, power)) * u + std::pow(low, power),
                        1 / power);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = std::llround(weights[i] / sum * static_cast<double>(target));
    }
    correct_sum(rows, target, tokens);
    const ExpertCounts counts = counts_of(rows);
    mean.active += counts.active / kDraws;
    mean.max_over_mean += counts.max_over_mean / kDraws;
  }
  return mean;
}

}  // namespace

ExpertCounts expert_counts(int experts, int top_k, int tokens, const std::string& distribution) {
  if (experts < 1 || top_k < 1 || top_k > experts || tokens < 1) {
    throw std::invalid_argument("experts, top_k and tokens must fit each other");
  }
  if (distribution == "balanced") return balanced(experts, top_k, tokens);
  const std::string prefix = "power_law_";
  if (distribution.rfind(prefix, 0) == 0) {
    const std::optional<double> alpha = parse_number(distribution.substr(prefix.size()));
    if (alpha && *alpha > 0 && *alpha != 1) return power_law(experts, top_k, tokens, *alpha);
  }
  throw std::invalid_argument("unknown distribution: " + distribution);
}

}  // namespace plateau
