// Binomial distribution: tokens that one expert gets from n independent tokens, each with
// probability p.
#pragma once

#include <cstdint>
#include <vector>

namespace plateau {

// P(X <= m). Summed term by term up to 30 successes or failures; between, Peizer and Pratt's normal
// approximation (JASA 1968), whose error is below 1e-4 there (tested).
double binomial_cdf(std::int64_t m, std::int64_t n, double p);

// Adds weight * P(X = m) to sums[m] for every m within ten deviations of the mean; sums has n + 1
// entries or more.
void add_binomial(std::int64_t n, double p, double weight, std::vector<double>& sums);

}  // namespace plateau
