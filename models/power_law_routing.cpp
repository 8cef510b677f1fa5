#include "models/power_law_routing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace plateau {

namespace {

constexpr double kMinGenerated = 512;  // layers behind a node
constexpr double kMaxGenerated = 8192;
constexpr double kStandardError = 0.0015;      // of the active experts, relative
constexpr std::uint64_t kRankGenerated = 512;  // layers behind a rank node
constexpr int kPooledLayers = 64;              // for the distribution of tokens per expert

// Weights from x^-alpha on [low, high].
std::vector<double> draw_weights(Random& random, int experts, double alpha, double low,
                                 double high) {
  const double power = 1 - alpha;
  const bool logarithmic = std::abs(power) < 1e-9;
  const double from = logarithmic ? std::log(low) : std::pow(low, power);
  const double to = logarithmic ? std::log(high) : std::pow(high, power);
  std::vector<double> weights;
  weights.reserve(static_cast<std::size_t>(experts));
  for (int i = 0; i < experts; ++i) {
    const double x = from + (to - from) * random.uniform();
    weights.push_back(logarithmic ? std::exp(x) : std::exp(std::log(x) / power));
  }
  return weights;
}

// The first `n` indices by falling (fullest) or rising count; among equals fullest counts the lower
// index as fuller.
std::vector<std::size_t> by_count(const ExpertCounts& counts, std::size_t n, bool fullest) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  n = std::min(n, order.size());
  const auto fuller = [&counts](std::size_t a, std::size_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  };
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n);
  if (fullest) {
    std::partial_sort(order.begin(), middle, order.end(), fuller);
  } else {
    std::partial_sort(order.begin(), middle, order.end(),
                      [&](std::size_t a, std::size_t b) { return fuller(b, a); });
  }
  order.resize(n);
  return order;
}

// Adds or takes single tokens until the counts add up to `target`.
void settle(ExpertCounts& counts, std::int64_t target) {
  std::int64_t rest = target - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (rest == 0) {
    return;
  }
  const auto order = by_count(counts, static_cast<std::size_t>(std::abs(rest)), rest > 0);
  for (std::size_t i = 0; rest != 0; i = (i + 1) % order.size()) {
    std::int64_t& n = counts[order[i]];
    if (rest > 0) {
      ++n;
      --rest;
    } else {
      --(n > 0 ? n : *std::max_element(counts.begin(), counts.end()));
      ++rest;
    }
  }
}

// No expert can get a token twice: what exceeds `tokens` goes to the next fullest experts.
void clip(ExpertCounts& counts, std::int64_t tokens) {
  std::int64_t excess = 0;
  for (std::int64_t& n : counts) {
    excess += std::max<std::int64_t>(0, n - tokens);
    n = std::min(n, tokens);
  }
  if (excess == 0) {
    return;
  }
  for (const std::size_t i : by_count(counts, counts.size(), true)) {
    const std::int64_t given = std::min(excess, tokens - counts[i]);
    counts[i] += given;
    excess -= given;
  }
}

}  // namespace

ExpertCounts power_law_counts(Random& random, int experts, int top_k, std::int64_t tokens,
                              double alpha) {
  const std::int64_t assignments = tokens * top_k;
  const bool many = assignments > experts;
  const double high = many ? 0.8 * static_cast<double>(tokens) : 2;
  const std::vector<double> weights = draw_weights(random, experts, alpha, many ? 1 : 0.01, high);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  ExpertCounts counts;
  counts.reserve(weights.size());
  for (const double weight : weights) {
    counts.push_back(
        static_cast<std::int64_t>(std::nearbyint(weight / sum * static_cast<double>(assignments))));
  }
  settle(counts, assignments);
  clip(counts, tokens);
  return counts;
}

PowerLawRouting::PowerLawRouting(double alpha, const RoutingSize& size, std::uint64_t seed)
    : alpha_(alpha),
      size_(size),
      stream_(seed, "routing/power_law"),
      // Every batch up to the law's change of range is a node of its own.
      active_(std::max(8, size.experts / size.top_k + 1)),
      active_square_(active_),
      max_(active_) {}

std::unique_ptr<RoutingModel> PowerLawRouting::clone() const {
  return std::make_unique<PowerLawRouting>(*this);
}

const PowerLawRouting::Node& PowerLawRouting::node(std::int64_t tokens) {
  const auto found = nodes_.find(tokens);
  if (found != nodes_.end()) {
    return found->second;
  }
  double active = 0, square = 0, most = 0, n = 0;
  const auto settled = [&] {  // relative standard error of `active` small enough
    const double mean = active / n;
    return square / n - mean * mean < n * kStandardError * kStandardError * mean * mean;
  };
  while (n < kMaxGenerated && (n < kMinGenerated || !settled())) {
    Random random = stream_.at(static_cast<std::uint64_t>(n));
    const ExpertCounts counts =
        power_law_counts(random, size_.experts, size_.top_k, tokens, alpha_);
    const auto a = static_cast<double>(active_experts(counts));
    active += a;
    square += a * a;
    most += plateau::max_over_mean(counts);
    ++n;
  }
  return nodes_[tokens] = {active / n, square / n, most / n};
}

double PowerLawRouting::active_mean(double tokens) {
  return active_.at(tokens, [this](std::int64_t batch) { return node(batch).active; });
}

double PowerLawRouting::active_variance(double tokens) {
  const double mean = active_mean(tokens);
  const double square =
      active_square_.at(tokens, [this](std::int64_t batch) { return node(batch).active_square; });
  return std::max(0.0, square - mean * mean);
}

double PowerLawRouting::max_over_mean(double tokens) {
  return max_.at(tokens, [this](std::int64_t batch) { return node(batch).max_over_mean; });
}

double PowerLawRouting::rank_max_over_mean(double tokens, int ranks) {
  if (ranks <= 1) {
    return 1;
  }
  BatchCurve fresh(std::max(8, size_.experts / size_.top_k + 1));
  BatchCurve& curve = rank_max_.emplace(ranks, fresh).first->second;
  return curve.at(tokens, [&](std::int64_t batch) {
    double sum = 0;
    for (std::uint64_t i = 0; i < kRankGenerated; ++i) {
      Random random = stream_.at(i);
      sum += plateau::rank_max_over_mean(
          power_law_counts(random, size_.experts, size_.top_k, batch, alpha_), ranks);
    }
    return sum / kRankGenerated;
  });
}

std::vector<double> PowerLawRouting::tokens_per_expert(std::int64_t tokens) {
  std::vector<double> chance(static_cast<std::size_t>(tokens) + 1, 0.0);
  const auto layers = static_cast<std::uint64_t>(std::max(size_.layers, kPooledLayers));
  for (std::uint64_t i = 0; i < layers; ++i) {
    Random random = stream_.at(i);
    for (const std::int64_t n :
         power_law_counts(random, size_.experts, size_.top_k, tokens, alpha_)) {
      chance[static_cast<std::size_t>(n)] += 1.0 / (static_cast<double>(layers) * size_.experts);
    }
  }
  return chance;
}

std::string PowerLawRouting::method() const { return "average over 512 or more generated layers"; }

void PowerLawRouting::draw(Random& random, int /*layer*/, std::int64_t tokens,
                           ExpertCounts& counts) {
  const ExpertCounts drawn = power_law_counts(random, size_.experts, size_.top_k, tokens, alpha_);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] += drawn[i];
  }
}

}  // namespace plateau
