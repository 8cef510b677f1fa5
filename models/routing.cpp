#include "models/routing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "models/inclusion_routing.h"
#include "models/power_law_routing.h"

namespace plateau {

namespace {

// Smallest m with P(N <= m) >= share.
double percentile(const std::vector<double>& chance, double share) {
  constexpr double kRounding = 1e-12;
  double sum = 0;
  for (std::size_t m = 0; m < chance.size(); ++m) {
    sum += chance[m];
    if (sum >= share - kRounding) {
      return static_cast<double>(m);
    }
  }
  return static_cast<double>(chance.size()) - 1;
}

template <typename Figure>
double mean_over(const std::vector<ExpertCounts>& layers, const Figure& figure) {
  double sum = 0;
  for (const ExpertCounts& counts : layers) {
    sum += static_cast<double>(figure(counts));
  }
  return sum / static_cast<double>(layers.size());
}

}  // namespace

std::unique_ptr<RoutingModel> make_routing_model(const RoutingLaw& law, const RoutingSize& size,
                                                 std::uint64_t seed) {
  std::string words;
  for (const std::string& problem : problems_of(law, size.experts, size.top_k)) {
    words += (words.empty() ? "" : "; ") + problem;
  }
  if (!words.empty()) {
    throw std::invalid_argument("routing " + std::string(name_of(law.kind)) + ": " + words);
  }
  if (law.kind == RoutingLaw::Kind::power_law) {
    return std::make_unique<PowerLawRouting>(law.alpha, size, seed);
  }
  return std::make_unique<InclusionRouting>(law, size, seed);
}

ExpertRouting::ExpertRouting(const RoutingLaw& law, const RoutingSize& size, std::uint64_t seed,
                             int sample_layers, bool exact)
    : size_(size), exact_(exact), token_stream_(seed, "routing/tokens") {
  if (size.layers == 0 || size.experts == 0) {
    return;
  }
  layers_ = sample_layers > 0 ? std::min(sample_layers, size.layers) : size.layers;
  RoutingLaw considered = law;
  if (!law.counts.empty() && layers_ < size.layers) {
    considered.counts.clear();
    for (int i = 0; i < layers_; ++i) {
      const auto layer = static_cast<std::size_t>(i) * static_cast<std::size_t>(size.layers) /
                         static_cast<std::size_t>(layers_);
      considered.counts.push_back(law.counts[layer % law.counts.size()]);
    }
  }
  model_ = make_routing_model(considered, {size.experts, size.top_k, layers_}, seed);
}

ExpertRouting::ExpertRouting(const ExpertRouting& other)
    : size_(other.size_),
      layers_(other.layers_),
      exact_(other.exact_),
      token_stream_(other.token_stream_),
      model_(other.model_ ? other.model_->clone() : nullptr),
      loads_(other.loads_),
      drawn_(other.drawn_) {}

ExpertRouting& ExpertRouting::operator=(const ExpertRouting& other) {
  return *this = ExpertRouting(other);
}

std::vector<ExpertCounts> ExpertRouting::draw(std::int64_t tokens, std::uint64_t step) {
  std::vector<ExpertCounts> layers;
  for (int layer = 0; layer < layers_; ++layer) {
    const std::uint64_t index =
        step * static_cast<std::uint64_t>(layers_) + static_cast<std::uint64_t>(layer);
    Random random = token_stream_.at(index, static_cast<std::uint32_t>(tokens));
    layers.emplace_back(static_cast<std::size_t>(size_.experts), 0);
    model_->draw(random, layer, tokens, layers.back());
  }
  return layers;
}

const std::vector<ExpertCounts>& ExpertRouting::drawn(std::int64_t tokens) {
  const auto found = drawn_.find(tokens);
  return found != drawn_.end() ? found->second : drawn_[tokens] = draw(tokens, 0);
}

const ExpertLoad& ExpertRouting::load(double tokens) {
  const auto found = loads_.find(tokens);
  if (found != loads_.end()) {
    return found->second;
  }
  ExpertLoad load;
  load.tokens = tokens;
  if (model_ && tokens > 0) {
    const double batch = std::max(1.0, tokens);
    if (exact_) {
      const std::vector<ExpertCounts>& layers = drawn(std::llround(batch));
      load.active_experts = mean_over(layers, active_experts);
      load.rows_max_over_mean = mean_over(layers, max_over_mean);
    } else {
      load.active_experts = model_->active_mean(batch);
      load.rows_max_over_mean = model_->max_over_mean(batch);
    }
  }
  return loads_[tokens] = load;
}

double ExpertRouting::active_deviation(double tokens) {
  if (!model_ || tokens <= 0) {
    return 0;
  }
  return std::sqrt(model_->active_variance(std::max(1.0, tokens)) / layers_);
}

double ExpertRouting::rank_max_over_mean(double tokens, int ranks) {
  if (!model_ || tokens <= 0 || ranks <= 1) {
    return 1;
  }
  if (exact_) {
    return mean_over(
        drawn(std::llround(std::max(1.0, tokens))),
        [ranks](const ExpertCounts& counts) { return plateau::rank_max_over_mean(counts, ranks); });
  }
  return model_->rank_max_over_mean(std::max(1.0, tokens), ranks);
}

std::vector<double> ExpertRouting::tokens_per_expert(double tokens) {
  const auto batch = std::llround(tokens);
  if (!model_ || batch <= 0) {
    return {1.0};
  }
  if (!exact_) {
    return model_->tokens_per_expert(batch);
  }
  std::vector<double> chance(static_cast<std::size_t>(batch) + 1, 0.0);
  for (const ExpertCounts& counts : drawn(batch)) {
    for (const std::int64_t n : counts) {
      chance[static_cast<std::size_t>(n)] += 1.0 / (static_cast<double>(layers_) * size_.experts);
    }
  }
  return chance;
}

double ExpertRouting::padded_rows(double tokens, int tile) {
  const std::vector<double> chance = tokens_per_expert(tokens);
  double rows = 0;
  for (std::size_t m = 1; m < chance.size(); ++m) {
    const auto step = static_cast<std::size_t>(tile);
    rows += chance[m] * static_cast<double>((m + step - 1) / step * step);
  }
  return rows * size_.experts;
}

ExpertLoadSummary ExpertRouting::summary(double tokens, int ranks) {
  return summary(std::vector<BatchSteps>{{tokens, 1}}, ranks);
}

ExpertLoadSummary ExpertRouting::summary(const std::vector<BatchSteps>& batches, int ranks) {
  double steps = 0;
  for (const BatchSteps& batch : batches) {
    steps += batch.steps;
  }
  ExpertLoadSummary all;
  all.layers = layers_;
  all.method = !model_ ? "no experts" : exact_ ? "every token drawn" : model_->method();
  if (!model_ || steps <= 0) {
    return all;
  }
  all.max_over_mean = all.rank_max_over_mean = 0;
  std::vector<double> chance;
  for (const BatchSteps& batch : batches) {
    const double weight = batch.steps / steps;
    const ExpertLoad& one = load(batch.tokens);
    all.tokens += weight * batch.tokens;
    all.active_mean += weight * one.active_experts;
    all.active_deviation += weight * active_deviation(batch.tokens);
    all.max_over_mean += weight * one.rows_max_over_mean;
    all.rank_max_over_mean += weight * rank_max_over_mean(batch.tokens, ranks);
    const std::vector<double> own = tokens_per_expert(batch.tokens);
    chance.resize(std::max(chance.size(), own.size()), 0.0);
    for (std::size_t m = 0; m < own.size(); ++m) {
      chance[m] += weight * own[m];
    }
  }
  all.tokens_per_expert_mean = all.tokens * size_.top_k / size_.experts;
  all.tokens_per_expert_p50 = percentile(chance, 0.50);
  all.tokens_per_expert_p99 = percentile(chance, 0.99);
  return all;
}

}  // namespace plateau
