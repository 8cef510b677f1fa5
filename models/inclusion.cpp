#include "models/inclusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace plateau {

namespace {

// Indices by falling weight; equal weights keep their order.
std::vector<std::size_t> by_weight(const std::vector<double>& weights) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return order;
}

// chance[c] = P(c have finished), c < k; adds one competitor that has finished with probability
// `done`.
void add_competitor(std::vector<double>& chance, double done) {
  for (std::size_t c = chance.size(); c-- > 1;) {
    chance[c] = chance[c] * (1 - done) + chance[c - 1] * done;
  }
  chance[0] *= 1 - done;
}

// P(fewer than k finished) when one competitor with probability `done` <= 1/2 is taken out of
// `chance`. (Above 1/2 the recursion would amplify rounding errors.)
double fewer_without(const std::vector<double>& chance, double done) {
  double sum = 0, previous = 0;
  for (const double c : chance) {
    previous = (c - done * previous) / (1 - done);
    sum += previous;
  }
  return sum;
}

// The race of `weights` (falling, adding up to 1) as a function of time.
class Race {
 public:
  Race(const std::vector<double>& weights, int top_k)
      : weights_(weights), k_(static_cast<std::size_t>(top_k)), done_(weights.size()) {}

  // P(fewer than k of all have finished by t).
  double open(double t) {
    advance(t);
    return std::accumulate(all_.begin(), all_.end(), 0.0);
  }

  // Adds `step` times the density of "i finishes at t among the first k" to each inclusion[i].
  void collect(double t, double step, std::vector<double>& inclusion) {
    advance(t);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double fewer = i < likely_ ? fewer_without_likely(i) : fewer_without(all_, done_[i]);
      inclusion[i] += step * weights_[i] * (1 - done_[i]) * fewer;
    }
  }

 private:
  void advance(double t) {
    likely_ = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      done_[i] = -std::expm1(-weights_[i] * t);
      likely_ += done_[i] > 0.5 ? 1 : 0;
    }
    rest_.assign(k_, 0.0);
    rest_[0] = 1;
    for (std::size_t i = likely_; i < weights_.size(); ++i) {
      add_competitor(rest_, done_[i]);
    }
    all_ = rest_;
    for (std::size_t i = 0; i < likely_; ++i) {
      add_competitor(all_, done_[i]);
    }
  }

  double fewer_without_likely(std::size_t out) {
    others_ = rest_;
    for (std::size_t i = 0; i < likely_; ++i) {
      if (i != out) {
        add_competitor(others_, done_[i]);
      }
    }
    return std::accumulate(others_.begin(), others_.end(), 0.0);
  }

  const std::vector<double>& weights_;
  std::size_t k_;
  std::vector<double> done_;    // P(i has finished)
  std::size_t likely_ = 0;      // the first so many have done_ > 1/2
  std::vector<double> rest_;    // how many of the others have finished
  std::vector<double> all_;     // how many have finished
  std::vector<double> others_;  // scratch
};

// Eight-point Gauss-Legendre rule on [-1, 1]: points +-x with weight w (Abramowitz and
// Stegun 25.4).
constexpr std::array<double, 4> kPoints = {0.1834346424956498, 0.5255324099163290,
                                           0.7966664774136267, 0.9602898564975363};
constexpr std::array<double, 4> kWeights = {0.3626837833783620, 0.3137066458778873,
                                            0.2223810344533745, 0.1012285362903763};
constexpr double kNegligible = 1e-13;

// Inclusion probabilities for falling weights that add up to 1.
std::vector<double> race_inclusion(const std::vector<double>& weights, int top_k) {
  Race race(weights, top_k);
  double begin = 0.05;  // before it nobody is shut out
  while (race.open(begin) < 1 - kNegligible) {
    begin /= 2;
  }
  double end = 4;  // after it everybody is
  while (race.open(end) > kNegligible) {
    end *= 1.5;
  }
  std::vector<double> inclusion;
  for (const double weight : weights) {
    inclusion.push_back(-std::expm1(-weight * begin));
  }
  const double range = std::log(end / begin);
  const int panels = std::max(4, static_cast<int>(std::ceil(range * 2)));
  const double half = range / panels / 2;
  for (int panel = 0; panel < panels; ++panel) {
    const double centre = std::log(begin) + half * (2 * panel + 1);
    for (std::size_t point = 0; point < kPoints.size(); ++point) {
      for (const double side : {-1.0, 1.0}) {
        const double t = std::exp(centre + side * half * kPoints[point]);
        race.collect(t, half * kWeights[point] * t, inclusion);
      }
    }
  }
  return inclusion;
}

}  // namespace

std::vector<double> capped_inclusion(const std::vector<double>& weights, int top_k) {
  double rest = std::accumulate(weights.begin(), weights.end(), 0.0);
  double seats = top_k;
  std::vector<double> inclusion(weights.size());
  if (*std::max_element(weights.begin(), weights.end()) * seats < rest) {  // nobody is capped
    for (std::size_t i = 0; i < weights.size(); ++i) {
      inclusion[i] = weights[i] * seats / rest;
    }
    return inclusion;
  }
  for (const std::size_t i : by_weight(weights)) {
    if (seats >= 1 && weights[i] * seats >= rest) {  // always selected
      inclusion[i] = 1;
      seats -= 1;
      rest -= weights[i];
    } else {
      inclusion[i] = rest > 0 ? std::min(1.0, weights[i] * seats / rest) : 0;
    }
  }
  return inclusion;
}

std::vector<double> plackett_luce_inclusion(const std::vector<double>& weights, int top_k) {
  const std::vector<std::size_t> order = by_weight(weights);
  std::vector<double> falling;
  for (const std::size_t i : order) {
    if (weights[i] > 0) {
      falling.push_back(weights[i]);
    }
  }
  const double sum = std::accumulate(falling.begin(), falling.end(), 0.0);
  for (double& weight : falling) {
    weight /= sum;
  }
  std::vector<double> inclusion(weights.size(), 0.0);
  std::vector<double> sorted(falling.size(), 1.0);
  if (static_cast<std::size_t>(top_k) < falling.size()) {
    sorted = race_inclusion(falling, top_k);
  }
  const double scale = top_k / std::accumulate(sorted.begin(), sorted.end(), 0.0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    inclusion[order[i]] = std::min(1.0, sorted[i] * scale);
  }
  return inclusion;
}

std::vector<InclusionBin> inclusion_bins(const std::vector<std::vector<double>>& layers,
                                         std::vector<std::vector<std::size_t>>* bin_of) {
  constexpr double kRatio = 1.02;
  constexpr double kColdest = 1 << 14;  // colder than ratio^-kColdest counts as never selected
  const double scale = -1 / std::log(kRatio);
  std::vector<InclusionBin> all;  // by falling inclusion, from 1 down; the last one is "never"
  std::vector<std::vector<std::size_t>> places;
  std::size_t coldest = 0;
  for (const std::vector<double>& layer : layers) {
    places.emplace_back();
    for (const double pi : layer) {
      const double place = std::min(kColdest, std::max(0.0, scale * std::log(pi)));
      places.back().push_back(static_cast<std::size_t>(place));
      coldest = std::max(coldest, places.back().back());
    }
  }
  all.resize(coldest + 1);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (std::size_t i = 0; i < layers[l].size(); ++i) {
      all[places[l][i]].experts += 1;
      all[places[l][i]].inclusion += layers[l][i];
    }
  }
  std::vector<InclusionBin> bins;
  std::vector<std::size_t> index(all.size());
  for (std::size_t place = 0; place < all.size(); ++place) {
    index[place] = bins.size();
    if (all[place].experts > 0) {
      bins.push_back(all[place]);
      bins.back().inclusion = std::min(1.0, bins.back().inclusion / bins.back().experts);
    }
  }
  if (bin_of != nullptr) {
    for (std::vector<std::size_t>& layer : places) {
      for (std::size_t& place : layer) {
        place = index[place];
      }
    }
    *bin_of = std::move(places);
  }
  return bins;
}

}  // namespace plateau
