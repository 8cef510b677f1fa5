// A smooth positive function of the batch that is costly to evaluate: known at a few batches,
// interpolated between.
//
// Nodes: every batch below `first`, then first x {1, 1.5, 2, 3, 4, 6, ...}. Between nodes the
// logarithm is linear in the logarithm of the batch. Each node is evaluated when first needed and
// remembered, so the value at a batch does not depend on which batches were asked before.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>

namespace plateau {

class BatchCurve {
 public:
  explicit BatchCurve(std::int64_t first) : first_(first) {}

  // `evaluate(std::int64_t batch)` must be positive and always the same for a batch. batch >= 1.
  template <typename Function>
  double at(double batch, const Function& evaluate) {
    auto low = static_cast<std::int64_t>(batch);
    std::int64_t high = low + 1;
    if (low >= first_) {
      low = first_;
      while (static_cast<double>(2 * low) <= batch) {
        low *= 2;
      }
      const std::int64_t middle = low + low / 2;
      high = static_cast<double>(middle) <= batch ? 2 * low : middle;
      low = static_cast<double>(middle) <= batch ? middle : low;
    }
    const double below = node(low, evaluate);
    if (static_cast<double>(low) == batch) {
      return below;
    }
    const double share = std::log(batch / static_cast<double>(low)) /
                         std::log(static_cast<double>(high) / static_cast<double>(low));
    return below * std::pow(node(high, evaluate) / below, share);
  }

 private:
  template <typename Function>
  double node(std::int64_t batch, const Function& evaluate) {
    const auto found = values_.find(batch);
    if (found != values_.end()) {
      return found->second;
    }
    const double value = evaluate(batch);
    values_.emplace(batch, value);
    return value;
  }

  std::int64_t first_;
  std::map<std::int64_t, double> values_;
};

}  // namespace plateau
