// Random numbers that depend only on where they are drawn: Philox4x32-10 streams and the
// distributions on top.
//
// A number is a function of (seed, stream name, replica, index, draw) and of nothing else: not of
// the thread, the order of events or of draws made elsewhere. A what-if therefore sees the same
// arrivals and lengths as its base.
//   key     = mix(seed ^ mix(FNV-1a 64 of the stream's name)), 64 bits
//   counter = (draw, index low, index high, replica), 4 x 32 bits; one count of `draw` yields four
//   32-bit words
// Generator: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11 (constants from
// there; the unit test holds it against Random123). Distributions are our own because std:: ones
// differ between libraries. Limits: 2^32 draws of four words at one (index, replica); the last
// digit of log/exp is the C library's.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace plateau {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// The Philox4x32 block function with ten rounds.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// FNV-1a, 64 bits: turns a stream's name into a number.
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return hash;
}

// The draws at one (index, replica) of a stream, in order. Cheap to create and to copy.
class Random {
 public:
  Random(PhiloxKey key, std::uint64_t index, std::uint32_t replica)
      : counter_{0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                 replica},
        key_(key) {}

  std::uint32_t u32() {
    if (used_ == 4) {
      block_ = philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }
  std::uint64_t u64() {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }
  double uniform() { return static_cast<double>(u64() >> 11) * 0x1p-53; }               // [0, 1)
  double uniform_open() { return (static_cast<double>(u64() >> 12) + 0.5) * 0x1p-52; }  // (0, 1)

 private:
  PhiloxCounter counter_;
  PhiloxKey key_;
  PhiloxCounter block_{};
  std::uint32_t used_ = 4;
};

// A named family of random numbers, e.g. RandomStream(seed, "arrivals").at(request).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);
  Random at(std::uint64_t index, std::uint32_t replica = 0) const { return {key_, index, replica}; }

 private:
  PhiloxKey key_;
};

// Uniform integer in [low, high], both ends included (Lemire 2019, without bias). Needs low <=
// high.
std::int64_t uniform_int(Random& random, std::int64_t low, std::int64_t high);

// Uniform integer in [0, n), n >= 1: the same in 32 bits, cheaper.
inline std::uint32_t below(Random& random, std::uint32_t n) {
  std::uint64_t product = std::uint64_t{random.u32()} * n;
  if (static_cast<std::uint32_t>(product) < n) {
    const std::uint32_t threshold = (0u - n) % n;
    while (static_cast<std::uint32_t>(product) < threshold) {
      product = std::uint64_t{random.u32()} * n;
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

double exponential(Random& random, double mean);
double normal(Random& random);               // mean 0, deviation 1 (Marsaglia's polar method)
double gumbel(Random& random);               // location 0, scale 1
double gamma(Random& random, double shape);  // scale 1, shape > 0 (Marsaglia and Tsang 2000)
std::int64_t poisson(Random& random, double mean);                // mean >= 0
std::int64_t binomial(Random& random, std::int64_t n, double p);  // p is clamped to [0, 1]
std::vector<double> dirichlet(Random& random, const std::vector<double>& shapes);  // sums to 1

// Counts of n draws with the given weights (>= 0, not all 0).
std::vector<std::int64_t> multinomial(Random& random, std::int64_t n,
                                      const std::vector<double>& weights);

// ln(n!), the same on every machine up to the C library's log (Stirling's series above 15).
double log_factorial(std::int64_t n);

template <typename T>
void shuffle(Random& random, std::vector<T>& items) {  // Fisher-Yates
  for (std::size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[below(random, static_cast<std::uint32_t>(left))]);
  }
}

}  // namespace plateau
