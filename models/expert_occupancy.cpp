#include "models/expert_occupancy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "models/binomial.h"

namespace plateau {

ExpertOccupancy::ExpertOccupancy(const std::vector<std::vector<double>>& inclusion)
    : hottest_(inclusion) {
  for (const InclusionBin& found : inclusion_bins(inclusion)) {
    const double experts = found.experts / static_cast<double>(inclusion.size());
    bins_.push_back({experts, found.inclusion, -std::log1p(-found.inclusion)});
    experts_ += experts;
    top_k_ += experts * found.inclusion;
    spread_ += experts * found.inclusion * (1 - found.inclusion);
  }
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

double ExpertOccupancy::max_over_mean(std::int64_t tokens) const {
  return hottest_.max_over_mean(tokens);
}

}  // namespace plateau
