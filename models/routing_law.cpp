#include "models/routing_law.h"

#include <algorithm>
#include <cmath>

#include "models/random.h"

namespace plateau {

namespace {

using Kind = RoutingLaw::Kind;

constexpr double kMaxAlpha = 10;  // far beyond any measured skew; above it weights would underflow
constexpr double kMaxSigma = 10;

void check_replay(const RoutingLaw& law, int experts, int top_k, std::vector<std::string>& found) {
  if (law.counts.empty()) {
    found.push_back("replay needs counts of at least one layer");
  }
  for (std::size_t layer = 0; layer < law.counts.size(); ++layer) {
    const std::vector<double>& row = law.counts[layer];
    const std::string where = "counts row " + std::to_string(layer);
    if (row.size() != static_cast<std::size_t>(experts)) {
      found.push_back(where + " has " + std::to_string(row.size()) + " experts, the model " +
                      std::to_string(experts));
    }
    const bool sane =
        std::all_of(row.begin(), row.end(), [](double c) { return std::isfinite(c) && c >= 0; });
    if (!sane) {
      found.push_back(where + " holds a count below 0 or not finite");
    }
    const auto used = std::count_if(row.begin(), row.end(), [](double c) { return c > 0; });
    if (used < top_k) {
      found.push_back(where + " has fewer experts in use than a token selects (" +
                      std::to_string(top_k) + ")");
    }
  }
}

std::vector<double> zipf_weights(double alpha, int experts, Random& random) {
  std::vector<double> weights;
  for (int rank = 1; rank <= experts; ++rank) {
    weights.push_back(std::pow(static_cast<double>(rank), -alpha));
  }
  shuffle(random, weights);
  return weights;
}

std::vector<double> lognormal_weights(const RoutingLaw& law, int experts, Random& random) {
  std::vector<double> weights;
  const int group_size = experts / law.groups;
  double group = 0;
  for (int expert = 0; expert < experts; ++expert) {
    if (expert % group_size == 0) {
      group = law.sigma_group * normal(random);
    }
    weights.push_back(std::exp(group + law.sigma_expert * normal(random)));
  }
  return weights;
}

}  // namespace

const char* name_of(RoutingLaw::Kind kind) {
  switch (kind) {
    case Kind::uniform:
      return "uniform";
    case Kind::two_level_lognormal:
      return "two_level_lognormal";
    case Kind::zipf:
      return "zipf";
    case Kind::zipf_gumbel:
      return "zipf_gumbel";
    case Kind::power_law:
      return "power_law";
    case Kind::replay:
      return "replay";
  }
  return "?";
}

std::vector<std::string> problems_of(const RoutingLaw& law, int experts, int top_k) {
  std::vector<std::string> found;
  if (experts < 1 || top_k < 1 || top_k > experts) {
    found.push_back("a token must select between 1 and all experts");
    return found;
  }
  if (!(law.alpha >= 0 && law.alpha <= kMaxAlpha)) {
    found.push_back("alpha must lie between 0 and 10");
  }
  if (!(law.sigma_group >= 0 && law.sigma_group <= kMaxSigma && law.sigma_expert >= 0 &&
        law.sigma_expert <= kMaxSigma)) {
    found.push_back("sigma_group and sigma_expert must lie between 0 and 10");
  }
  if (law.kind == Kind::two_level_lognormal && (law.groups < 1 || experts % law.groups != 0)) {
    found.push_back("groups (" + std::to_string(law.groups) +
                    ") must divide the number of experts (" + std::to_string(experts) + ")");
  }
  if (law.kind == Kind::replay) {
    check_replay(law, experts, top_k, found);
  }
  return found;
}

std::vector<double> expert_weights(const RoutingLaw& law, int experts, int layer,
                                   std::uint64_t seed) {
  const auto index = static_cast<std::uint64_t>(layer);
  Random random = RandomStream(seed, "routing/popularity").at(index);
  switch (law.kind) {
    case Kind::zipf:
    case Kind::zipf_gumbel:
      return zipf_weights(law.alpha, experts, random);
    case Kind::two_level_lognormal:
      return lognormal_weights(law, experts, random);
    case Kind::replay:
      return law.counts[index % law.counts.size()];
    case Kind::uniform:
    case Kind::power_law:
      break;
  }
  return std::vector<double>(static_cast<std::size_t>(experts), 1.0);
}

}  // namespace plateau
