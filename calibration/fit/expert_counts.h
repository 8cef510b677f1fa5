// How many experts AIConfigurator's MoE benchmark rows really touch.
//
// Its routing distributions are not random draws per token (collector/helper.py, commit 095f58a5):
//   balanced         token j takes experts j + i * s, s = ceil(E / k), i = 0..k-1 (mod E); below s
//                    tokens the j are spread over the stride. Distinct experts: min(E, k B), every
//                    one with k B / E rows. At B = 32, k = 8, E = 256 that is 256, where random
//                    routing touches 163: "balanced" is not "uniform".
//   power_law_alpha  E weights drawn from x^-alpha on [1, 0.8 B], or on [0.01, 2] when k B <= E,
//   are
//                    scaled to k B rows, rounded, capped at B, and corrected by single rows to the
//                    exact sum (hottest first when short, coldest first when over).
// The second is random: its counts are means over kDraws draws of the generator above with a fixed
// seed (standard error below 2 % of the active experts). The benchmark's own draws are not
// published.
#pragma once

#include <string>

namespace plateau {

struct ExpertCounts {
  double active = 0;         // experts with at least one row, mean
  double max_over_mean = 1;  // hottest expert's rows over the mean of all experts
};

// distribution: "balanced" or "power_law_<alpha>"; throws std::invalid_argument on another.
ExpertCounts expert_counts(int experts, int top_k, int tokens, const std::string& distribution);

}  // namespace plateau
