#include "models/binomial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/random.h"

namespace plateau {

namespace {

constexpr std::int64_t kSummed = 30;
constexpr double kWindow = 10;  // deviations

// 2 [s ln(s/expected)] terms of Peizer and Pratt, accurate near s = expected.
double deviance(double s, double expected) {
  const double excess = (s - expected) / expected;
  return s * std::log1p(excess);
}

double peizer_pratt(double m, double n, double p) {
  const double q = 1 - p;
  const double below = m + 0.5, above = n - m - 0.5;
  const double distance =
      m + 2.0 / 3 - (n + 1.0 / 3) * p + 0.02 * (q / (m + 1) - p / (n - m) + (q - 0.5) / (n + 1));
  const double miss = below - n * p;
  if (std::abs(miss) < 1e-9 * n) {  // limit of the ratio below: the deviance is miss^2 / (n p q)
    return 0.5 * std::erfc(-distance / std::sqrt((n + 1.0 / 6) * p * q) / std::sqrt(2.0));
  }
  const double sum = 2 * (deviance(below, n * p) + deviance(above, n * q));
  const double z = distance / std::abs(miss) * std::sqrt(std::max(0.0, sum) / (1 + 1 / (6 * n)));
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// P(X <= m), term by term from 0.
double summed(std::int64_t m, std::int64_t n, double p) {
  const double odds = p / (1 - p);
  double term = std::exp(static_cast<double>(n) * std::log1p(-p));
  double sum = term;
  for (std::int64_t k = 1; k <= m; ++k) {
    term *= odds * static_cast<double>(n - k + 1) / static_cast<double>(k);
    sum += term;
  }
  return std::min(1.0, sum);
}

}  // namespace

double binomial_cdf(std::int64_t m, std::int64_t n, double p) {
  if (m < 0) {
    return 0;
  }
  if (m >= n || p <= 0) {
    return 1;
  }
  if (p >= 1) {
    return 0;
  }
  if (m <= kSummed) {
    return summed(m, n, p);
  }
  if (n - m - 1 <= kSummed) {  // as many failures
    return 1 - summed(n - m - 1, n, 1 - p);
  }
  return peizer_pratt(static_cast<double>(m), static_cast<double>(n), p);
}

void add_binomial(std::int64_t n, double p, double weight, std::vector<double>& sums) {
  if (p <= 0 || p >= 1) {
    sums[p <= 0 ? 0 : static_cast<std::size_t>(n)] += weight;
    return;
  }
  const auto trials = static_cast<double>(n);
  const auto mode = std::min(n, static_cast<std::int64_t>((trials + 1) * p));
  const double reach = kWindow * (1 + std::sqrt(trials * p * (1 - p)));
  const auto low = std::max<std::int64_t>(0, mode - static_cast<std::int64_t>(reach));
  const auto high = std::min(n, mode + static_cast<std::int64_t>(reach));
  const auto at_mode = static_cast<double>(mode);
  const double top =
      weight * std::exp(log_factorial(n) - log_factorial(mode) - log_factorial(n - mode) +
                        at_mode * std::log(p) + (trials - at_mode) * std::log1p(-p));
  const double odds = p / (1 - p);
  double term = top;
  for (std::int64_t m = mode; m <= high; ++m) {
    sums[static_cast<std::size_t>(m)] += term;
    term *= odds * static_cast<double>(n - m) / static_cast<double>(m + 1);
  }
  term = top;
  for (std::int64_t m = mode; m-- > low;) {
    term *= static_cast<double>(m + 1) / (odds * static_cast<double>(n - m));
    sums[static_cast<std::size_t>(m)] += term;
  }
}

}  // namespace plateau
