// What a routing law says about a batch: expectations cheap enough to ask at every new batch, and
// draws.
//
// Two kinds: InclusionRouting for the laws in which a token selects expert i with a fixed
// probability, and PowerLawRouting for AIConfigurator's generator, which draws whole counts. Choose
// with make_routing_model. Not thread-safe (interpolation nodes are remembered); clone() for
// another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/load_statistics.h"
#include "models/random.h"
#include "models/routing_law.h"

namespace plateau {

struct RoutingSize {
  int experts = 0;
  int top_k = 0;
  int layers = 0;  // MoE layers
};

class RoutingModel {
 public:
  virtual ~RoutingModel() = default;
  virtual std::unique_ptr<RoutingModel> clone() const = 0;

  // Expectations, means over layers. tokens >= 1.
  virtual double active_mean(double tokens) = 0;
  virtual double active_variance(double tokens) = 0;  // of one layer, over draws of the tokens
  virtual double max_over_mean(double tokens) = 0;
  virtual double rank_max_over_mean(double tokens, int ranks) = 0;
  // P(an expert gets m tokens), m = 0..tokens, over experts and layers.
  virtual std::vector<double> tokens_per_expert(std::int64_t tokens) = 0;
  // "closed form over 58 layers" and the like.
  virtual std::string method() const = 0;

  // One layer's load, token by token; counts has one zero per expert.
  virtual void draw(Random& random, int layer, std::int64_t tokens, ExpertCounts& counts) = 0;
};

// size.layers is the number of layers considered. Throws std::invalid_argument with problems_of's
// words.
std::unique_ptr<RoutingModel> make_routing_model(const RoutingLaw& law, const RoutingSize& size,
                                                 std::uint64_t seed);

}  // namespace plateau
