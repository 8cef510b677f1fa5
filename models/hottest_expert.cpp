#include "models/hottest_expert.h"

#include <algorithm>
#include <cmath>

#include "models/binomial.h"

namespace plateau {

namespace {

constexpr double kTail = 1e-6;

}  // namespace

HottestExpert::HottestExpert(const std::vector<std::vector<double>>& inclusion) {
  std::vector<std::vector<std::size_t>> bin_of;
  for (const InclusionBin& bin : inclusion_bins(inclusion, &bin_of)) {
    bins_.push_back(bin.inclusion);
  }
  for (std::size_t l = 0; l < inclusion.size(); ++l) {
    const auto hottest = std::max_element(inclusion[l].begin(), inclusion[l].end());
    std::vector<double> experts(bins_.size(), 0.0);
    for (const std::size_t bin : bin_of[l]) {
      experts[bin] += 1;
    }
    experts[bin_of[l][static_cast<std::size_t>(hottest - inclusion[l].begin())]] -= 1;
    layers_.push_back({*hottest, {}});
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      if (experts[bin] > 0) {
        layers_.back().others.emplace_back(bin, experts[bin]);
      }
    }
    experts_ = static_cast<double>(inclusion[l].size());
    for (const double pi : inclusion[l]) {
      top_k_ += pi / static_cast<double>(inclusion.size());
    }
  }
}

// P(max > m). log_within: ln P(N <= m) of the bins that may exceed m.
double HottestExpert::exceeded(const Layer& layer, std::int64_t m, std::int64_t tokens,
                               const std::vector<double>& log_within) const {
  double sum = 0;
  for (const auto& other : layer.others) {
    if (other.first >= log_within.size()) {
      break;
    }
    sum += other.second * log_within[other.first];
  }
  return 1 - std::exp(sum) * binomial_cdf(m, tokens, layer.hottest);
}

double HottestExpert::max_over_mean(std::int64_t tokens) const {
  if (tokens <= 0) {
    return 1;
  }
  const auto batch = static_cast<double>(tokens);
  const auto coolest =
      std::min_element(layers_.begin(), layers_.end(),
                       [](const Layer& a, const Layer& b) { return a.hottest < b.hottest; });
  const double deviation = std::sqrt(batch * coolest->hottest * (1 - coolest->hottest));
  // The fullest expert holds at least the mean, rounded up; smaller m are exceeded for certain. The
  // sum over m runs in blocks of `stride` values around those evaluated.
  const auto least = static_cast<std::int64_t>(std::ceil(batch * top_k_ / experts_ - 1e-9));
  const auto half = static_cast<std::int64_t>(deviation / 4);
  const auto start =
      std::max(least, static_cast<std::int64_t>(batch * coolest->hottest - 6 * deviation) + half);
  std::vector<Sum> sums(layers_.size(), {static_cast<double>(start - half), false});
  std::size_t open = sums.size();
  std::vector<double> log_within;
  for (std::int64_t m = start; open > 0; m += 2 * half + 1) {
    log_within.clear();
    for (const double pi : bins_) {
      const double within = binomial_cdf(m, tokens, pi);
      if ((1 - within) * experts_ < kTail) {
        break;  // colder bins are less likely still to exceed m
      }
      log_within.push_back(std::log(within));
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!sums[l].done) {
        const double chance = exceeded(layers_[l], m, tokens, log_within);
        sums[l].exceeded += static_cast<double>(2 * half + 1) * chance;
        sums[l].done = chance < kTail || m + half >= tokens;
        open -= sums[l].done ? 1 : 0;
      }
    }
  }
  const double scale = experts_ > 1 ? std::sqrt(experts_ / (experts_ - 1)) : 1;
  double mean = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const double limit = batch * layers_[l].hottest;
    const double expected = limit + (sums[l].exceeded - limit) * scale;
    mean += std::clamp(expected, static_cast<double>(least), batch) /
            static_cast<double>(layers_.size());
  }
  return mean * experts_ / (batch * top_k_);
}

}  // namespace plateau
