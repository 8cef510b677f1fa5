// How popular the experts of a model are: the laws that routing can follow, and what each says of
// one layer.
//
// Symbols: E experts, k experts per token (top_k), p_i share of the assignments that expert i gets
// (sum 1), pi_i = P(a token selects i), the inclusion probability (sum k, each <= 1). Tokens are
// independent.
//   uniform              pi_i = k/E
//   two_level_lognormal  p_i ~ exp(sigma_group z_g + sigma_expert z_i), z normal, g = router group
//   of i, contiguous.
//                        sigma 0.55 / 0.50 with 8 groups reproduces DeepSeek-V3/R1 recordings (58
//                        layers, SGLang, decode): CV 0.77, hottest expert 5.3 x mean, 8 ranks 1.93;
//                        sigma_group 0 where no groups.
//   zipf                 p_i ~ rank^-alpha, order shuffled per layer
//   zipf_gumbel          the same weights, but a token takes k experts one after another without
//   replacement
//                        (Gumbel top-k = Plackett-Luce): flattens the hot ones, pi_i < k p_i there.
//                        This is what the measured H200 engine draws.
//   replay               p_i from counts per layer (layer l of the model takes row l modulo the
//   rows given) power_law            AIConfigurator's generator: counts of a batch are drawn
//   directly, and the skew grows with
//                        the batch (models/power_law_routing.h); it has no pi_i
// For zipf, two_level_lognormal and replay pi_i = min(1, c p_i) with c such that the sum is k.
// Wrong when tokens of a batch resemble each other (same prompt or domain): fewer experts wake than
// said here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plateau {

struct RoutingLaw {
  enum class Kind : std::uint8_t {
    uniform,
    two_level_lognormal,
    zipf,
    zipf_gumbel,
    power_law,
    replay
  };
  Kind kind = Kind::uniform;
  double alpha = 0;                         // zipf, zipf_gumbel, power_law
  double sigma_group = 0;                   // two_level_lognormal
  double sigma_expert = 0;                  // two_level_lognormal
  int groups = 1;                           // two_level_lognormal; divides the number of experts
  std::vector<std::vector<double>> counts;  // replay: [layer][expert]
};

const char* name_of(RoutingLaw::Kind kind);

// What makes the law impossible for such a model, in words; empty when it is fine.
std::vector<std::string> problems_of(const RoutingLaw& law, int experts, int top_k);

// Weights p_i (not normalised) of one layer. Not for power_law.
std::vector<double> expert_weights(const RoutingLaw& law, int experts, int layer,
                                   std::uint64_t seed);

}  // namespace plateau
