// Least-squares fit of a KnotGrid to scattered samples.
//
//   minimise  sum_i w_i (f(x_i) - y_i)^2 + bend * |second differences of f along each axis|^2
//                                        + slope * |first differences|^2
//
// Second differences are weighted by the knots' distances, so that a straight line costs nothing;
// the small slope term flattens corners of the grid that no sample reaches. Robust: weights are
// redone (Huber, w = min(1, scale / |residual|)) so that a kernel's single odd choice does not bend
// the surface around it. Sparse normal equations, Eigen's simplicial LDL^T; the same input gives
// the same values.
#pragma once

#include <vector>

#include "calibration/knot_grid.h"

namespace plateau {

struct SurfaceSample {
  KnotGrid::Point x{};
  double y = 0;
};

struct SurfaceOptions {
  double bend = 0.3;
  double slope = 1e-3;
  double scale = 0.05;  // of y; residuals beyond are outliers
  int iterations = 6;
};

// Throws std::invalid_argument on knots that do not ascend; an empty set of samples gives zeros.
KnotGrid fit_surface(const std::vector<std::vector<double>>& axes,
                     const std::vector<SurfaceSample>& samples, const SurfaceOptions& options);

}  // namespace plateau
