// Draws, token by token, which k distinct experts each token selects.
//
// Two ways, because popularity means two things (models/routing_law.h):
//   ExactInclusionSampler  P(i selected) is exactly the given inclusion probability pi_i.
//   Sampford's rejective method
//                          (JRSS B 1967): the first expert proportional to pi, the others
//                          proportional to pi/(1 - pi), all over again unless distinct. After a few
//                          rejections (strong skew) equally spaced marks on the cumulated pi in
//                          random order (Madow 1949): inclusion is exact there too, so the mixture
//                          is.
//   SuccessiveSampler      one expert after another, proportional to the weights, without
//   replacement (Plackett-Luce,
//                          the law of Gumbel top-k)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/load_statistics.h"
#include "models/random.h"

namespace plateau {

class ExactInclusionSampler {
 public:
  explicit ExactInclusionSampler(const std::vector<double>& inclusion);
  // Adds `tokens` tokens to the counts.
  void draw(Random& random, std::int64_t tokens, ExpertCounts& counts);

 private:
  bool try_rejective(Random& random);
  void take_equally_spaced(Random& random);

  std::vector<std::size_t> certain_;  // in every token
  std::vector<std::size_t> experts_;  // the others
  std::vector<double> inclusion_;     // of experts_
  std::vector<double> cumulated_;     // of inclusion_
  std::vector<double> cumulated_odds_;
  std::vector<char> taken_;
  std::vector<std::size_t> picked_;  // positions in experts_
  std::vector<std::size_t> order_;   // scratch
};

class SuccessiveSampler {
 public:
  SuccessiveSampler(const std::vector<double>& weights, int top_k);
  void draw(Random& random, std::int64_t tokens, ExpertCounts& counts);

 private:
  std::size_t pick(Random& random);

  std::vector<double> weights_;
  std::vector<double> cumulated_;
  std::vector<char> taken_;  // by the current token
  std::vector<std::size_t> picked_;
};

}  // namespace plateau
