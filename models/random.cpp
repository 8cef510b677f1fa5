#include "models/random.h"

#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

// SplitMix64's finaliser: a bijection, so distinct names (or seeds) never share a key.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// High and low 64 bits of a product (no __int128: it is no part of C++).
std::pair<std::uint64_t, std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a_low = a & 0xFFFFFFFFu, a_high = a >> 32;
  const std::uint64_t b_low = b & 0xFFFFFFFFu, b_high = b >> 32;
  const std::uint64_t low = a_low * b_low;
  const std::uint64_t middle = a_high * b_low + (low >> 32);
  const std::uint64_t cross = a_low * b_high + (middle & 0xFFFFFFFFu);
  return {a_high * b_high + (middle >> 32) + (cross >> 32), cross << 32 | (low & 0xFFFFFFFFu)};
}

// Below this mean the counting methods are cheaper, and the rejection methods are not valid.
constexpr double kSmallMean = 10;

std::int64_t small_poisson(Random& random, double mean) {
  const double limit = std::exp(-mean);
  double product = random.uniform_open();
  std::int64_t count = 0;
  while (product > limit) {
    product *= random.uniform_open();
    ++count;
  }
  return count;
}

// Hoermann 1993, "The transformed rejection method for generating Poisson random variables" (PTRS).
std::int64_t large_poisson(Random& random, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double log_inverse_alpha = std::log(1.1239 + 1.1328 / (b - 3.4));
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  const double log_mean = std::log(mean);
  for (;;) {
    const double u = random.uniform() - 0.5;
    const double v = random.uniform_open();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= squeeze) {
      return static_cast<std::int64_t>(k);
    }
    if (k < 0 || (us < 0.013 && v > us)) {
      continue;
    }
    if (std::log(v) + log_inverse_alpha - std::log(a / (us * us) + b) <=
        -mean + k * log_mean - log_factorial(static_cast<std::int64_t>(k))) {
      return static_cast<std::int64_t>(k);
    }
  }
}

// Inversion: walks up the distribution. Needs n p < kSmallMean and p <= 1/2.
std::int64_t small_binomial(Random& random, std::int64_t n, double p) {
  const double odds = p / (1 - p);
  const double scale = odds * static_cast<double>(n + 1);
  double chance = std::exp(static_cast<double>(n) * std::log1p(-p));
  double u = random.uniform();
  std::int64_t k = 0;
  while (u > chance && k < n) {
    u -= chance;
    ++k;
    chance *= scale / static_cast<double>(k) - odds;
  }
  return k;
}

// Hoermann 1993, "The generation of binomial random variates" (BTRS). Needs n p >= kSmallMean, p <=
// 1/2.
std::int64_t large_binomial(Random& random, std::int64_t count, double p) {
  const auto n = static_cast<double>(count);
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = n * p + 0.5;
  const double squeeze = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double log_odds = std::log(p / (1 - p));
  const double mode = std::floor((n + 1) * p);
  const auto log_ways = [count](double k) {
    const auto whole = static_cast<std::int64_t>(k);
    return log_factorial(whole) + log_factorial(count - whole);
  };
  for (;;) {
    const double u = random.uniform() - 0.5;
    const double v = random.uniform_open();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= squeeze) {
      return static_cast<std::int64_t>(k);
    }
    if (k < 0 || k > n) {
      continue;
    }
    if (std::log(v * alpha / (a / (us * us) + b)) <=
        log_ways(mode) - log_ways(k) + (k - mode) * log_odds) {
      return static_cast<std::int64_t>(k);
    }
  }
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = mix(seed ^ mix(fnv1a(name)));
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

std::int64_t uniform_int(Random& random, std::int64_t low, std::int64_t high) {
  const std::uint64_t range =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (range == 0) {  // all 2^64 integers
    return static_cast<std::int64_t>(random.u64());
  }
  auto product = multiply(random.u64(), range);
  if (product.second < range) {
    const std::uint64_t threshold = (0 - range) % range;
    while (product.second < threshold) {
      product = multiply(random.u64(), range);
    }
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + product.first);
}

double exponential(Random& random, double mean) { return -mean * std::log(random.uniform_open()); }

double normal(Random& random) {
  for (;;) {
    const double x = 2 * random.uniform() - 1;
    const double y = 2 * random.uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) {
      return x * std::sqrt(-2 * std::log(square) / square);
    }
  }
}

double gumbel(Random& random) { return -std::log(-std::log(random.uniform_open())); }

double gamma(Random& random, double shape) {
  if (shape < 1) {  // boost the shape by one, then scale back
    const double root = std::pow(random.uniform_open(), 1 / shape);
    return gamma(random, shape + 1) * root;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random);
    const double root = 1 + c * x;
    if (root <= 0) {
      continue;
    }
    const double v = root * root * root;
    if (std::log(random.uniform_open()) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return d * v;
    }
  }
}

std::int64_t poisson(Random& random, double mean) {
  return mean < kSmallMean ? small_poisson(random, mean) : large_poisson(random, mean);
}

std::int64_t binomial(Random& random, std::int64_t n, double p) {
  if (n <= 0 || p <= 0) {
    return 0;
  }
  if (p >= 1) {
    return n;
  }
  if (p > 0.5) {
    return n - binomial(random, n, 1 - p);
  }
  return static_cast<double>(n) * p < kSmallMean ? small_binomial(random, n, p)
                                                 : large_binomial(random, n, p);
}

std::vector<double> dirichlet(Random& random, const std::vector<double>& shapes) {
  std::vector<double> shares;
  shares.reserve(shapes.size());
  double sum = 0;
  for (const double shape : shapes) {
    shares.push_back(gamma(random, shape));
    sum += shares.back();
  }
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

std::vector<std::int64_t> multinomial(Random& random, std::int64_t n,
                                      const std::vector<double>& weights) {
  double rest = 0;
  std::size_t last = 0;  // takes what is left, whatever rounding did to `rest`
  for (std::size_t i = 0; i < weights.size(); ++i) {
    rest += weights[i];
    last = weights[i] > 0 ? i : last;
  }
  std::vector<std::int64_t> counts(weights.size(), 0);
  for (std::size_t i = 0; i < last; ++i) {
    counts[i] = rest > 0 ? binomial(random, n, weights[i] / rest) : 0;
    n -= counts[i];
    rest -= weights[i];
  }
  if (!counts.empty()) {
    counts[last] += n;
  }
  return counts;
}

double log_factorial(std::int64_t n) {
  static const std::array<double, 16> kSmall = [] {
    std::array<double, 16> table{};
    double product = 1;
    for (std::size_t i = 1; i < table.size(); ++i) {
      product *= static_cast<double>(i);
      table[i] = std::log(product);
    }
    return table;
  }();
  if (n < static_cast<std::int64_t>(kSmall.size())) {
    return n <= 0 ? 0 : kSmall[static_cast<std::size_t>(n)];
  }
  const auto x = static_cast<double>(n);
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x + 0.5) * std::log(x) - x + kHalfLogTwoPi +
         inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
}

}  // namespace plateau
