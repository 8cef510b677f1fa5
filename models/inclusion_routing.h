// Routing in which every token selects expert i with a fixed probability pi_i per layer,
// independently of other tokens: all laws but power_law. Formulas: models/expert_occupancy.h and
// models/rank_load.h.
//
// max_over_mean and rank_max_over_mean are interpolated between nodes (models/batch_curve.h);
// rank_max_over_mean is an average over some 512 draws (standard error below 1 % from B k/n = 16
// on).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/batch_curve.h"
#include "models/expert_occupancy.h"
#include "models/routing_model.h"

namespace plateau {

class InclusionRouting : public RoutingModel {
 public:
  InclusionRouting(const RoutingLaw& law, const RoutingSize& size, std::uint64_t seed);

  std::unique_ptr<RoutingModel> clone() const override;
  double active_mean(double tokens) override;
  double active_variance(double tokens) override;
  double max_over_mean(double tokens) override;
  double rank_max_over_mean(double tokens, int ranks) override;
  std::vector<double> tokens_per_expert(std::int64_t tokens) override;
  std::string method() const override;
  void draw(Random& random, int layer, std::int64_t tokens, ExpertCounts& counts) override;

  // [layer][expert] probability that a token selects the expert.
  const std::vector<std::vector<double>>& inclusion() const { return popularity_->inclusion; }

 private:
  struct Popularity {
    std::vector<std::vector<double>> inclusion;
    std::vector<std::vector<double>> weights;  // successive sampling only
    ExpertOccupancy occupancy;
  };
  static std::shared_ptr<const Popularity> popularity_of(const RoutingLaw& law,
                                                         const RoutingSize& size,
                                                         std::uint64_t seed);
  double node_rank_max(std::int64_t tokens, int ranks);

  RoutingSize size_;
  RandomStream rank_stream_;
  std::shared_ptr<const Popularity> popularity_;  // shared by clones
  BatchCurve max_;
  std::map<int, BatchCurve> rank_max_;  // by ranks
};

}  // namespace plateau
