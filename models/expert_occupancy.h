// How many experts B independent tokens wake, and how full each is, in closed form from inclusion
// probabilities.
//
// N_i, the tokens of expert i, is Binomial(B, pi_i) whatever the joint law of a token's k experts.
// Hence, exactly,
//   E[A]     = sum_i 1 - (1 - pi_i)^B                     active (distinct) experts of a layer
//   P(N = m) = mean over experts of Binomial(B, pi_i)(m)  tokens per expert, padded rows
// and, because selecting k distinct experts correlates them, approximately
//   Var A    = sum q (1 - q) - B/d (sum q pi)^2 + B (B - 1)/(2 d^2) (sum q pi^2)^2
// with q_i = (1 - pi_i)^B, d = sum pi (1 - pi), from Hajek's joint probabilities
//   1 - pi_i - pi_j + pi_ij = (1 - pi_i)(1 - pi_j)(1 - pi_i pi_j/d);
// exact where all pi are equal (occupancy formula). The fullest expert: models/hottest_expert.h.
// All layers count alike: the figures are means over layers. Equal pi (within 2 %) share one bin,
// which moves E[A] by less than 1e-5 of itself and makes a batch cost microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hottest_expert.h"

namespace plateau {

class ExpertOccupancy {
 public:
  // [layer][expert] inclusion probabilities; each layer adds up to the same top_k.
  explicit ExpertOccupancy(const std::vector<std::vector<double>>& inclusion);

  double active_mean(double tokens) const;
  double active_variance(double tokens) const;  // of one layer's active experts over token draws
  double max_over_mean(std::int64_t tokens) const;  // hottest expert over the mean of all experts
  std::vector<double> tokens_per_expert(std::int64_t tokens) const;  // P(N = m), m = 0..tokens

 private:
  struct Bin {
    double experts = 0;    // how many fall into it (occupancy bins: per layer)
    double inclusion = 0;  // their mean pi
    double escape = 0;     // -ln(1 - pi); infinite for pi = 1
  };

  double experts_ = 0;  // per layer
  double top_k_ = 0;
  double spread_ = 0;      // d, mean over layers
  std::vector<Bin> bins_;  // of all layers, by falling pi
  HottestExpert hottest_;
};

}  // namespace plateau
