// A function of up to three coordinates, given at the knots of a grid and linear between them.
//
//   f(x) = sum over the 2^d corners of x's cell: value(corner) * product of the linear weights
//
// Outside the knots the coordinate is clamped: the value at the edge is held, and the answer says
// by how much it was left. Coordinates are whatever the caller chose, here natural logarithms of
// shapes.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace plateau {

class KnotGrid {
 public:
  static constexpr std::size_t kMaxAxes = 3;
  static constexpr std::size_t kCorners = std::size_t{1} << kMaxAxes;
  using Point = std::array<double, kMaxAxes>;

  KnotGrid() = default;
  // Knots ascend strictly, at least one an axis; values in row-major order, last axis fastest.
  // Throws std::invalid_argument otherwise.
  KnotGrid(std::vector<std::vector<double>> axes, std::vector<double> values);

  std::size_t axes() const { return axes_.size(); }
  const std::vector<double>& knots(std::size_t axis) const { return axes_[axis]; }
  const std::vector<double>& values() const { return values_; }

  struct Answer {
    double value = 0;
    double beyond = 0;  // largest distance to the knots over the axes; 0: inside or on the edge
  };
  Answer at(const Point& x) const;

  // The corners of the (clamped) point's cell: f(x) = sum weight[i] * values()[index[i]].
  struct Corners {
    std::array<std::size_t, kCorners> index{};
    std::array<double, kCorners> weight{};
    std::size_t count = 0;
    double beyond = 0;
  };
  Corners corners(const Point& x) const;

 private:
  std::vector<std::vector<double>> axes_;
  std::vector<double> values_;
};

}  // namespace plateau
