// AIConfigurator's synthetic expert loads: the `power_law` distribution of its MoE tables
// (collector/helper.py).
//
// For a batch of B tokens, E experts and k experts per token: one weight per expert from x^-alpha
// on [1, 0.8 B], or on [0.01, 2] when B k <= E, by inverse distribution function; rescaled to B k,
// rounded; the rounding's rest is given to the fullest experts one by one or taken from the
// emptiest (from the fullest where those are empty); no expert above B. New weights for every layer
// and step, so no expert stays popular. The upper limit 0.8 B makes the skew grow with the batch,
// unlike real routing; use it to compare with those tables, not to predict a model. The law jumps
// at B k = E, and its active experts A are not concave in B.
// Expectations are averages over at least 512 generated layers (standard error of A at most 0.15 %,
// of max/mean about 1 %) at nodes, interpolated between (models/batch_curve.h): some ms a node.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/batch_curve.h"
#include "models/routing_model.h"

namespace plateau {

// Tokens of each expert of one generated layer.
ExpertCounts power_law_counts(Random& random, int experts, int top_k, std::int64_t tokens,
                              double alpha);

class PowerLawRouting : public RoutingModel {
 public:
  PowerLawRouting(double alpha, const RoutingSize& size, std::uint64_t seed);

  std::unique_ptr<RoutingModel> clone() const override;
  double active_mean(double tokens) override;
  double active_variance(double tokens) override;
  double max_over_mean(double tokens) override;
  double rank_max_over_mean(double tokens, int ranks) override;
  std::vector<double> tokens_per_expert(std::int64_t tokens) override;
  std::string method() const override;
  void draw(Random& random, int layer, std::int64_t tokens, ExpertCounts& counts) override;

 private:
  struct Node {
    double active = 0;
    double active_square = 0;
    double max_over_mean = 0;
  };
  const Node& node(std::int64_t tokens);

  double alpha_;
  RoutingSize size_;
  RandomStream stream_;
  std::map<std::int64_t, Node> nodes_;
  BatchCurve active_, active_square_, max_;
  std::map<int, BatchCurve> rank_max_;  // by ranks
};

}  // namespace plateau
