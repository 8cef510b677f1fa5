// How many tokens the fullest expert gets: E[max_i N_i] over the mean load B k/E, mean over layers.
//
// N_i is Binomial(B, pi_i). Experts are treated as independent, P(max <= m) = prod_i P(N_i <= m),
// and the part of the maximum that is fluctuation (above B max pi) is scaled by sqrt(E/(E - 1)),
// because the loads add up to B k. Against token-level draws this is up to 2 % low at 2 to 4 tokens
// and within 0.5 % from 16 tokens on (256 experts, top 8). Experts other than a layer's hottest are
// binned by pi (2 %), so that their distributions are computed once for all layers: some 0.1-0.5 ms
// a batch for 58 layers of 256 experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/inclusion.h"

namespace plateau {

class HottestExpert {
 public:
  // [layer][expert] inclusion probabilities.
  explicit HottestExpert(const std::vector<std::vector<double>>& inclusion);
  double max_over_mean(std::int64_t tokens) const;

 private:
  struct Layer {
    double hottest = 0;                                  // its largest pi
    std::vector<std::pair<std::size_t, double>> others;  // bin, experts; by falling pi
  };
  struct Sum {
    double exceeded = 0;  // sum over m of P(max > m), the layer's expected maximum in the end
    bool done = false;
  };

  double exceeded(const Layer& layer, std::int64_t m, std::int64_t tokens,
                  const std::vector<double>& log_within) const;

  double experts_ = 0;
  double top_k_ = 0;
  std::vector<double> bins_;  // mean pi, falling
  std::vector<Layer> layers_;
};

}  // namespace plateau
