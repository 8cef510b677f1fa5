#include "calibration/knot_grid.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace plateau {

KnotGrid::KnotGrid(std::vector<std::vector<double>> axes, std::vector<double> values)
    : axes_(std::move(axes)), values_(std::move(values)) {
  if (axes_.empty() || axes_.size() > kMaxAxes) throw std::invalid_argument("1 to 3 axes");
  std::size_t size = 1;
  for (const std::vector<double>& knots : axes_) {
    if (knots.empty()) throw std::invalid_argument("an axis without knots");
    for (std::size_t i = 1; i < knots.size(); ++i) {
      if (!(knots[i - 1] < knots[i])) throw std::invalid_argument("knots do not ascend");
    }
    size *= knots.size();
  }
  if (values_.size() != size) throw std::invalid_argument("values do not fill the grid");
}

KnotGrid::Corners KnotGrid::corners(const Point& x) const {
  Corners corners;
  corners.count = 1;
  corners.weight[0] = 1;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::vector<double>& knots = axes_[axis];
    const double low = knots.front();
    const double high = knots.back();
    corners.beyond = std::max({corners.beyond, low - x[axis], x[axis] - high});
    const double inside = std::clamp(x[axis], low, high);
    for (std::size_t i = 0; i < corners.count; ++i) corners.index[i] *= knots.size();
    if (knots.size() == 1) continue;
    const auto above = std::upper_bound(knots.begin() + 1, knots.end() - 1, inside);
    const auto cell = static_cast<std::size_t>(above - knots.begin()) - 1;
    const double share = (inside - knots[cell]) / (knots[cell + 1] - knots[cell]);
    for (std::size_t i = 0; i < corners.count; ++i) {
      corners.index[i] += cell;
      corners.index[corners.count + i] = corners.index[i] + 1;
      corners.weight[corners.count + i] = corners.weight[i] * share;
      corners.weight[i] *= 1 - share;
    }
    corners.count *= 2;
  }
  return corners;
}

KnotGrid::Answer KnotGrid::at(const Point& x) const {
  const Corners at = corners(x);
  double value = 0;
  for (std::size_t i = 0; i < at.count; ++i) value += at.weight[i] * values_[at.index[i]];
  return {value, at.beyond};
}

}  // namespace plateau
