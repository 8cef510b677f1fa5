// From popularity weights to inclusion probabilities pi_i = P(a token selects expert i); sum k,
// each <= 1.
#pragma once

#include <cstddef>
#include <vector>

namespace plateau {

// pi_i = min(1, c w_i), c such that they add up to top_k: long-run shares stay proportional to the
// weights wherever an expert is not already in every token. At least top_k weights must be
// positive.
std::vector<double> capped_inclusion(const std::vector<double>& weights, int top_k);

// The k experts that an exponential race T_i ~ Exp(w_i) finishes first (= Gumbel top-k on log w_i):
//   pi_i = integral of w_i exp(-w_i t) P(fewer than k of the others finish before t) dt,
// the count of finished ones being Poisson-binomial. Gauss-Legendre in log t; absolute error below
// 1e-8 (tested against enumeration). At least top_k weights must be positive.
std::vector<double> plackett_luce_inclusion(const std::vector<double>& weights, int top_k);

// Inclusion probabilities that differ by at most 2 % share a bin.
struct InclusionBin {
  double experts = 0;
  double inclusion = 0;  // mean
};

// Bins of all experts of all layers, by falling inclusion. `bin_of`, if given, receives each
// expert's bin, [layer][expert].
std::vector<InclusionBin> inclusion_bins(const std::vector<std::vector<double>>& layers,
                                         std::vector<std::vector<std::size_t>>* bin_of = nullptr);

}  // namespace plateau
