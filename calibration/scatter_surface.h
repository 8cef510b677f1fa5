// A measured quantity over scattered shapes: exact at every measured point, smooth between them.
//
//   log(t) = log(reference(shape)) + s(x),   s(x) = c0 + c.x + sum_i w_i * (-|x - x_i|)
//
// x are scaled logarithms of the shape (features), the reference is roofline time plus a launch
// floor, so that s is a log-utilisation: nearly constant where a kernel is limited by one thing,
// and safe to interpolate between geometries as well as between batches. -|r| is the conditionally
// positive definite linear kernel (order 1), the natural cubic spline's little brother: no length
// scale to tune. A small nugget lets repeated measurements of one shape average. Beyond the
// measured box x is clamped: the edge's utilisation is held and the reference scales.
//
// Left out one geometry at a time, the H200 tables are predicted to 2-9 % by operation
// (tests/holdout).
#pragma once

#include <vector>

#include "models/estimate.h"

namespace plateau {

class ScatterSurface {
 public:
  struct Point {
    std::vector<double> features;  // scaled logs
    double reference = 0;          // > 0
    double value = 0;              // > 0
  };

  ScatterSurface() = default;
  explicit ScatterSurface(const std::vector<Point>& points);

  bool empty() const { return points_ == 0; }

  struct Answer {
    double value = 0;
    Source source =
        Source::measured;  // measured at a point, interpolated in the box, extrapolated beyond
    double nearest = 0;    // distance to the closest measured point, after clamping
    double beyond = 0;     // distance by which the shape lies outside the box
  };
  Answer at(const double* features, double reference) const;

 private:
  std::size_t points_ = 0;
  std::size_t dims_ = 0;
  std::vector<double> x_;        // points_ x dims_
  std::vector<double> weights_;  // points_
  std::vector<double> trend_;    // 1 + dims_
  std::vector<double> low_, high_;
};

}  // namespace plateau
