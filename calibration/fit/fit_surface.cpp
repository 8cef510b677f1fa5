#include "calibration/fit/fit_surface.h"

#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plateau {
namespace {

using Entries = std::vector<Eigen::Triplet<double>>;

struct Term {
  std::size_t index;
  double factor;
};

// Adds weight * (sum of factor * value)^2 to the quadratic form.
void add_square(Entries& entries, const std::vector<Term>& terms, double weight) {
  for (const Term& a : terms) {
    for (const Term& b : terms) {
      entries.emplace_back(static_cast<int>(a.index), static_cast<int>(b.index),
                           weight * a.factor * b.factor);
    }
  }
}

// Smoothness along one axis, for every line of the grid in its direction.
void add_smoothness(Entries& entries, const std::vector<std::vector<double>>& axes,
                    std::size_t axis, const SurfaceOptions& options) {
  std::size_t stride = 1;
  for (std::size_t i = axis + 1; i < axes.size(); ++i) stride *= axes[i].size();
  std::size_t size = 1;
  for (const std::vector<double>& knots : axes) size *= knots.size();
  const std::vector<double>& knots = axes[axis];
  for (std::size_t node = 0; node < size; ++node) {
    const std::size_t at = node / stride % knots.size();
    if (at + 1 < knots.size()) {
      add_square(entries, {{node, -1}, {node + stride, 1}}, options.slope);
    }
    if (at == 0 || at + 1 >= knots.size()) continue;
    const double before = knots[at] - knots[at - 1];
    const double after = knots[at + 1] - knots[at];
    add_square(entries,
               {{node - stride, after / (before + after)},
                {node, -1},
                {node + stride, before / (before + after)}},
               options.bend);
  }
}

// A sample's place in the grid does not move between iterations.
struct PlacedSample {
  KnotGrid::Corners at;
  double y = 0;
  double weight = 1;
};

void add_sample(Entries& entries, Eigen::VectorXd& right, const PlacedSample& sample) {
  const KnotGrid::Corners& at = sample.at;
  for (std::size_t a = 0; a < at.count; ++a) {
    if (at.weight[a] == 0) continue;
    const double share = sample.weight * at.weight[a];
    right[static_cast<Eigen::Index>(at.index[a])] += share * sample.y;
    for (std::size_t b = 0; b < at.count; ++b) {
      if (at.weight[b] == 0) continue;
      entries.emplace_back(static_cast<int>(at.index[a]), static_cast<int>(at.index[b]),
                           share * at.weight[b]);
    }
  }
}

Eigen::VectorXd solve(Entries entries, const std::vector<PlacedSample>& samples, std::size_t size) {
  const auto dimension = static_cast<Eigen::Index>(size);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(dimension);
  for (const PlacedSample& sample : samples) add_sample(entries, right, sample);
  Eigen::SparseMatrix<double> matrix(dimension, dimension);
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver(matrix);
  if (solver.info() != Eigen::Success) throw std::runtime_error("surface fit is singular");
  return solver.solve(right);
}

// Huber's weights for the next iteration.
void reweight(std::vector<PlacedSample>& samples, const Eigen::VectorXd& values, double scale) {
  for (PlacedSample& sample : samples) {
    double fitted = 0;
    for (std::size_t a = 0; a < sample.at.count; ++a) {
      fitted += sample.at.weight[a] * values[static_cast<Eigen::Index>(sample.at.index[a])];
    }
    const double residual = std::abs(sample.y - fitted);
    sample.weight = residual > scale ? scale / residual : 1.0;
  }
}

}  // namespace

KnotGrid fit_surface(const std::vector<std::vector<double>>& axes,
                     const std::vector<SurfaceSample>& samples, const SurfaceOptions& options) {
  std::size_t size = 1;
  for (const std::vector<double>& knots : axes) size *= knots.size();
  const KnotGrid shape(axes, std::vector<double>(size, 0.0));
  std::vector<PlacedSample> placed;
  placed.reserve(samples.size());
  for (const SurfaceSample& sample : samples) {
    placed.push_back({shape.corners(sample.x), sample.y, 1});
  }
  Entries smoothness;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    add_smoothness(smoothness, axes, axis, options);
  }
  constexpr double kAnchor = 1e-9;  // an empty grid is still solvable
  for (std::size_t i = 0; i < size; ++i) {
    smoothness.emplace_back(static_cast<int>(i), static_cast<int>(i), kAnchor);
  }
  Eigen::VectorXd values = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size));
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    values = solve(smoothness, placed, size);
    reweight(placed, values, options.scale);
  }
  return KnotGrid(axes, std::vector<double>(values.data(), values.data() + size));
}

}  // namespace plateau
