#include "models/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plateau {

namespace {

constexpr int kRejections = 12;
constexpr int kTries = 16;  // picks of a taken expert before the rest is listed one by one
constexpr double kCertain = 1 - 1e-12;

std::vector<double> cumulate(const std::vector<double>& weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  return sums;
}

// Index drawn proportional to the steps of `cumulated`.
std::size_t draw_index(Random& random, const std::vector<double>& cumulated) {
  const double mark = random.uniform() * cumulated.back();
  const auto found = std::upper_bound(cumulated.begin(), cumulated.end() - 1, mark);
  return static_cast<std::size_t>(found - cumulated.begin());
}

}  // namespace

ExactInclusionSampler::ExactInclusionSampler(const std::vector<double>& inclusion) {
  double left = 0;
  std::vector<double> odds;
  for (std::size_t i = 0; i < inclusion.size(); ++i) {
    if (inclusion[i] > kCertain) {
      certain_.push_back(i);
    } else if (inclusion[i] > 0) {
      experts_.push_back(i);
      inclusion_.push_back(inclusion[i]);
      odds.push_back(inclusion[i] / (1 - inclusion[i]));
      left += inclusion[i];
    }
  }
  cumulated_ = cumulate(inclusion_);
  cumulated_odds_ = cumulate(odds);
  taken_.assign(experts_.size(), 0);
  picked_.assign(static_cast<std::size_t>(std::llround(left)), 0);
  order_.resize(experts_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

bool ExactInclusionSampler::try_rejective(Random& random) {
  std::size_t found = 0;
  while (found < picked_.size()) {
    const std::size_t pick = draw_index(random, found == 0 ? cumulated_ : cumulated_odds_);
    if (taken_[pick] != 0) {
      break;
    }
    taken_[pick] = 1;
    picked_[found++] = pick;
  }
  for (std::size_t i = 0; i < found; ++i) {
    taken_[picked_[i]] = 0;
  }
  return found == picked_.size();
}

void ExactInclusionSampler::take_equally_spaced(Random& random) {
  shuffle(random, order_);
  double mark = random.uniform();
  double sum = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < order_.size() && found < picked_.size(); ++i) {
    sum += inclusion_[order_[i]];
    // The last marks must not be lost to rounding of the sum.
    const bool forced = order_.size() - i == picked_.size() - found;
    if (mark < sum || forced) {
      picked_[found++] = order_[i];
      mark += 1;
    }
  }
}

void ExactInclusionSampler::draw(Random& random, std::int64_t tokens, ExpertCounts& counts) {
  for (std::int64_t token = 0; token < tokens; ++token) {
    int attempt = 0;
    while (attempt < kRejections && !try_rejective(random)) {
      ++attempt;
    }
    if (attempt == kRejections) {
      take_equally_spaced(random);
    }
    for (const std::size_t pick : picked_) {
      ++counts[experts_[pick]];
    }
  }
  for (const std::size_t expert : certain_) {
    counts[expert] += tokens;
  }
}

SuccessiveSampler::SuccessiveSampler(const std::vector<double>& weights, int top_k)
    : weights_(weights),
      cumulated_(cumulate(weights)),
      taken_(weights.size(), 0),
      picked_(static_cast<std::size_t>(top_k), 0) {}

std::size_t SuccessiveSampler::pick(Random& random) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::size_t expert = draw_index(random, cumulated_);
    if (taken_[expert] == 0 && weights_[expert] > 0) {
      return expert;
    }
  }
  double rest = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    rest += taken_[i] != 0 ? 0 : weights_[i];
  }
  double mark = random.uniform() * rest;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (taken_[i] == 0 && weights_[i] > 0) {
      last = i;
      mark -= weights_[i];
      if (mark < 0) {
        break;
      }
    }
  }
  return last;
}

void SuccessiveSampler::draw(Random& random, std::int64_t tokens, ExpertCounts& counts) {
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::size_t& expert : picked_) {
      expert = pick(random);
      taken_[expert] = 1;
    }
    for (const std::size_t expert : picked_) {
      taken_[expert] = 0;
      ++counts[expert];
    }
  }
}

}  // namespace plateau
