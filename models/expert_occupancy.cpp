#include "models/expert_occupancy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "models/binomial.h"

namespace plateau {

namespace {

constexpr double kBinRatio = 1.02;
constexpr double kHeatRatio = 1.05;  // bins of single layers, for the maximum
constexpr std::size_t kLayersForMax = 16;
constexpr double kTail = 1e-6;
constexpr double kBins = 1 << 14;  // colder than ratio^-kBins counts as never selected

}  // namespace

std::vector<ExpertOccupancy::Bin> ExpertOccupancy::bins_of(
    const std::vector<std::vector<double>>& layers, double ratio) {
  const double scale = -1 / std::log(ratio);
  std::vector<Bin> bins;  // by falling pi, from 1 down
  Bin never;
  for (const std::vector<double>& layer : layers) {
    for (const double pi : layer) {
      const double key = scale * std::log(pi);
      const bool seen = key < kBins;
      if (seen && static_cast<std::size_t>(key) >= bins.size()) {
        bins.resize(static_cast<std::size_t>(key) + 1);
      }
      Bin& bin = seen ? bins[static_cast<std::size_t>(key)] : never;
      bin.experts += 1;
      bin.inclusion += pi;
    }
  }
  bins.push_back(never);
  std::vector<Bin> used;
  for (Bin bin : bins) {
    if (bin.experts > 0) {
      bin.inclusion = std::min(1.0, bin.inclusion / bin.experts);
      bin.experts /= static_cast<double>(layers.size());
      bin.escape = -std::log1p(-bin.inclusion);
      used.push_back(bin);
    }
  }
  return used;
}

ExpertOccupancy::ExpertOccupancy(const std::vector<std::vector<double>>& inclusion)
    : bins_(bins_of(inclusion, kBinRatio)) {
  for (const Bin& bin : bins_) {
    experts_ += bin.experts;
    top_k_ += bin.experts * bin.inclusion;
    spread_ += bin.experts * bin.inclusion * (1 - bin.inclusion);
  }
  std::vector<std::pair<double, std::size_t>> layers;  // by largest pi
  for (std::size_t i = 0; i < inclusion.size(); ++i) {
    layers.emplace_back(*std::max_element(inclusion[i].begin(), inclusion[i].end()), i);
    hottest_mean_ += layers.back().first / static_cast<double>(inclusion.size());
  }
  std::sort(layers.begin(), layers.end());
  const std::size_t chosen = std::min(kLayersForMax, layers.size());
  for (std::size_t i = 0; i < chosen; ++i) {
    const auto& layer = layers[(2 * i + 1) * layers.size() / (2 * chosen)];
    hottest_.push_back(by_heat(inclusion[layer.second], layer.first));
  }
}

// The bins of one layer, its hottest expert alone in the first.
std::vector<ExpertOccupancy::Bin> ExpertOccupancy::by_heat(std::vector<double> layer,
                                                           double hottest) {
  layer.erase(std::find(layer.begin(), layer.end(), hottest));
  std::vector<Bin> bins = {{1, hottest, 0}};
  if (!layer.empty()) {
    const std::vector<Bin> others = bins_of({layer}, kHeatRatio);
    bins.insert(bins.end(), others.begin(), others.end());
  }
  return bins;
}

double ExpertOccupancy::active_mean(double tokens) const {
  if (tokens <= 0) {
    return 0;
  }
  double idle = 0;
  for (const Bin& bin : bins_) {
    idle += bin.experts * std::exp(-tokens * bin.escape);
  }
  return std::min(experts_ - idle, tokens * top_k_);
}

double ExpertOccupancy::active_variance(double tokens) const {
  if (tokens <= 0 || spread_ <= 0) {
    return 0;
  }
  double alone = 0, first = 0, second = 0;
  for (const Bin& bin : bins_) {
    const double idle = std::exp(-tokens * bin.escape);
    alone += bin.experts * idle * (1 - idle);
    first += bin.experts * idle * bin.inclusion;
    second += bin.experts * idle * bin.inclusion * bin.inclusion;
  }
  if (bins_.size() == 1) {  // all alike: two given experts both sleep with probability r
    const double both = (experts_ - top_k_) * (experts_ - top_k_ - 1) / (experts_ * (experts_ - 1));
    const double idle = std::exp(-tokens * bins_[0].escape);
    const double r = both > 0 ? std::pow(both, tokens) : 0;
    return std::max(0.0, alone + experts_ * (experts_ - 1) * (r - idle * idle));
  }
  return std::max(0.0, alone - tokens / spread_ * first * first +
                           tokens * (tokens - 1) / (2 * spread_ * spread_) * second * second);
}

std::vector<double> ExpertOccupancy::tokens_per_expert(std::int64_t tokens) const {
  std::vector<double> chance(static_cast<std::size_t>(tokens) + 1, 0.0);
  for (const Bin& bin : bins_) {
    add_binomial(tokens, bin.inclusion, bin.experts / experts_, chance);
  }
  return chance;
}

// Sum over m of P(max > m), in blocks of `stride` values of m around those evaluated.
double ExpertOccupancy::expected_max(const std::vector<Bin>& bins, std::int64_t tokens) const {
  const auto batch = static_cast<double>(tokens);
  const double hottest = bins[0].inclusion;
  // The fullest expert holds at least the mean, rounded up.
  const auto least = static_cast<std::int64_t>(std::ceil(batch * top_k_ / experts_ - 1e-9));
  const auto exceeded = [&](std::int64_t m) {
    if (m < least) {
      return 1.0;
    }
    double within = 1, left = experts_;
    for (const Bin& bin : bins) {
      const double cdf = binomial_cdf(m, tokens, bin.inclusion);
      within *= bin.experts == 1 ? cdf : std::pow(cdf, bin.experts);
      left -= bin.experts;
      if ((1 - cdf) * left < kTail) {  // colder experts are less likely still to exceed m
        break;
      }
    }
    return 1 - within;
  };
  const double deviation = std::sqrt(batch * hottest * (1 - hottest));
  const std::int64_t half = static_cast<std::int64_t>(deviation / 4);
  const std::int64_t stride = 2 * half + 1;
  const auto middle = static_cast<std::int64_t>(batch * hottest);
  double sum = 0;
  for (std::int64_t m = middle; m - half < tokens; m += stride) {
    const double chance = exceeded(m);
    sum += static_cast<double>(stride) * chance;
    if (chance < kTail) {
      break;
    }
  }
  std::int64_t m = middle - stride;
  for (; m - half >= 0; m -= stride) {
    const double chance = exceeded(m);
    if (chance > 1 - kTail) {
      break;
    }
    sum += static_cast<double>(stride) * chance;
  }
  sum += static_cast<double>(m + half + 1);  // every smaller m is exceeded
  const double limit = batch * hottest;
  const double scale = experts_ > 1 ? std::sqrt(experts_ / (experts_ - 1)) : 1;
  return std::min(batch, std::max(static_cast<double>(least), limit + (sum - limit) * scale));
}

double ExpertOccupancy::max_over_mean(std::int64_t tokens) const {
  if (tokens <= 0) {
    return 1;
  }
  // Regression on the long-run maximum, which is known for every layer, from the layers computed.
  const auto batch = static_cast<double>(tokens);
  const auto n = static_cast<double>(hottest_.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const std::vector<Bin>& bins : hottest_) {
    const double limit = bins[0].inclusion;
    const double expected = expected_max(bins, tokens) / batch;
    x += limit / n;
    y += expected / n;
    xx += limit * limit / n;
    xy += limit * expected / n;
  }
  const double spread = xx - x * x;
  const double slope = spread > 1e-12 * xx ? std::clamp((xy - x * y) / spread, 0.0, 1.0) : 0;
  return std::min(1.0, y + slope * (hottest_mean_ - x)) * experts_ / top_k_;
}

}  // namespace plateau
