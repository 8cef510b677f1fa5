#include "models/inclusion_routing.h"

#include <algorithm>

#include "models/inclusion.h"
#include "models/rank_load.h"
#include "models/token_sampler.h"

namespace plateau {

namespace {

using Kind = RoutingLaw::Kind;

constexpr std::int64_t kFirstNode = 8;
constexpr int kRankDraws = 512;
constexpr double kNormalRows = 16;  // mean tokens of a rank from which its load counts as normal

// Layers differ only in the order of their experts.
bool layers_are_alike(Kind kind) {
  return kind == Kind::uniform || kind == Kind::zipf || kind == Kind::zipf_gumbel;
}

// Takes each expert's inclusion from the layer that has the same weights in another order.
std::vector<double> reordered(const std::vector<double>& weights, const std::vector<double>& from,
                              const std::vector<double>& inclusion) {
  std::vector<std::pair<double, double>> table;
  for (std::size_t i = 0; i < from.size(); ++i) {
    table.emplace_back(from[i], inclusion[i]);
  }
  std::sort(table.begin(), table.end());
  std::vector<double> result;
  for (const double weight : weights) {
    result.push_back(
        std::lower_bound(table.begin(), table.end(), std::make_pair(weight, 0.0))->second);
  }
  return result;
}

}  // namespace

std::shared_ptr<const InclusionRouting::Popularity> InclusionRouting::popularity_of(
    const RoutingLaw& law, const RoutingSize& size, std::uint64_t seed) {
  std::vector<std::vector<double>> weights, inclusion;
  for (int layer = 0; layer < size.layers; ++layer) {
    weights.push_back(expert_weights(law, size.experts, layer, seed));
    if (law.kind != Kind::zipf_gumbel) {
      inclusion.push_back(capped_inclusion(weights.back(), size.top_k));
    } else if (layer == 0) {
      inclusion.push_back(plackett_luce_inclusion(weights.back(), size.top_k));
    } else {
      inclusion.push_back(reordered(weights.back(), weights[0], inclusion[0]));
    }
  }
  ExpertOccupancy occupancy(
      layers_are_alike(law.kind) ? std::vector<std::vector<double>>{inclusion[0]} : inclusion);
  const bool successive = law.kind == Kind::zipf_gumbel || law.kind == Kind::uniform;
  if (!successive) {
    weights.clear();
  }
  return std::make_shared<Popularity>(
      Popularity{std::move(inclusion), std::move(weights), std::move(occupancy)});
}

InclusionRouting::InclusionRouting(const RoutingLaw& law, const RoutingSize& size,
                                   std::uint64_t seed)
    : size_(size),
      rank_stream_(seed, "routing/ranks"),
      popularity_(popularity_of(law, size, seed)),
      max_(kFirstNode) {}

std::unique_ptr<RoutingModel> InclusionRouting::clone() const {
  return std::make_unique<InclusionRouting>(*this);
}

double InclusionRouting::active_mean(double tokens) {
  return popularity_->occupancy.active_mean(tokens);
}

double InclusionRouting::active_variance(double tokens) {
  return popularity_->occupancy.active_variance(tokens);
}

double InclusionRouting::max_over_mean(double tokens) {
  return max_.at(
      tokens, [this](std::int64_t batch) { return popularity_->occupancy.max_over_mean(batch); });
}

double InclusionRouting::rank_max_over_mean(double tokens, int ranks) {
  if (ranks <= 1) {
    return 1;
  }
  BatchCurve& curve = rank_max_.emplace(ranks, BatchCurve(kFirstNode)).first->second;
  return curve.at(tokens, [&](std::int64_t batch) { return node_rank_max(batch, ranks); });
}

double InclusionRouting::node_rank_max(std::int64_t tokens, int ranks) {
  const auto batch = static_cast<double>(tokens);
  if (batch * size_.top_k / ranks >= kNormalRows) {
    return normal_rank_max_over_mean(popularity_->inclusion, batch, ranks, kRankDraws,
                                     rank_stream_);
  }
  const int each = (kRankDraws + size_.layers - 1) / size_.layers;
  double sum = 0;
  for (int layer = 0; layer < size_.layers; ++layer) {
    Random random = rank_stream_.at(static_cast<std::uint64_t>(layer), 1);
    for (int i = 0; i < each; ++i) {
      ExpertCounts counts(static_cast<std::size_t>(size_.experts), 0);
      draw(random, layer, tokens, counts);
      sum += plateau::rank_max_over_mean(counts, ranks);
    }
  }
  return sum / (static_cast<double>(size_.layers) * each);
}

std::vector<double> InclusionRouting::tokens_per_expert(std::int64_t tokens) {
  return popularity_->occupancy.tokens_per_expert(tokens);
}

std::string InclusionRouting::method() const {
  return "closed form over " + std::to_string(size_.layers) + " layers";
}

void InclusionRouting::draw(Random& random, int layer, std::int64_t tokens, ExpertCounts& counts) {
  const auto index = static_cast<std::size_t>(layer);
  if (popularity_->weights.empty()) {
    ExactInclusionSampler(popularity_->inclusion[index]).draw(random, tokens, counts);
  } else {
    SuccessiveSampler(popularity_->weights[index], size_.top_k).draw(random, tokens, counts);
  }
}

}  // namespace plateau
