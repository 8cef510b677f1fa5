// The straggler under expert parallelism: expected load of the fullest rank over the mean rank.
//
// R_g, the tokens of rank g, has mean B P_g and covariance B (V_g [g = h] - V_g V_h / d), with P_g
// and V_g the sums of pi and pi (1 - pi) over its experts and d = sum V (Hajek's joint
// probabilities: independent experts conditioned on the fixed sum). For B k / n >= 16 the loads are
// drawn as normal; for uniform routing this meets
//   1 + cv sqrt(n/(n-1)) m_n,  cv^2 = k (g/E)(1 - g/E)(E - k)/((E - 1) B (k/n)^2), g = E/n,  m_n =
//   E[max of n normals].
// Below that, tokens are drawn one by one (models/routing_model.h).
#pragma once

#include <cstdint>
#include <vector>

#include "models/random.h"

namespace plateau {

// Mean over layers and `draws` normal draws, the same draws for every batch. inclusion:
// [layer][expert].
double normal_rank_max_over_mean(const std::vector<std::vector<double>>& inclusion, double tokens,
                                 int ranks, int draws, const RandomStream& stream);

}  // namespace plateau
