#include "calibration/scatter_surface.h"

#include <Eigen/Dense>
#include <cmath>
#include <stdexcept>

namespace plateau {

namespace {

constexpr double kNugget =
    1e-4;  // in log units squared over distance: repeats average, others stay exact to 0.01 %
constexpr double kSamePoint = 1e-9;

double distance(const double* a, const double* b, std::size_t dims) {
  double sum = 0;
  for (std::size_t d = 0; d < dims; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

}  // namespace

ScatterSurface::ScatterSurface(const std::vector<Point>& points) : points_(points.size()) {
  if (points.empty()) return;
  dims_ = points.front().features.size();
  low_ = high_ = points.front().features;
  for (const Point& point : points) {
    if (point.features.size() != dims_ || !(point.value > 0) || !(point.reference > 0)) {
      throw std::invalid_argument(
          "scatter surface: features of one length, positive value and reference");
    }
    x_.insert(x_.end(), point.features.begin(), point.features.end());
    for (std::size_t d = 0; d < dims_; ++d) {
      low_[d] = std::min(low_[d], point.features[d]);
      high_[d] = std::max(high_[d], point.features[d]);
    }
  }
  const auto n = static_cast<Eigen::Index>(points_);
  const auto q = static_cast<Eigen::Index>(1 + dims_);
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(n + q, n + q);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n + q);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double* xi = &x_[static_cast<std::size_t>(i) * dims_];
    for (Eigen::Index j = 0; j < i; ++j) {
      system(i, j) = system(j, i) = -distance(xi, &x_[static_cast<std::size_t>(j) * dims_], dims_);
    }
    system(i, i) = kNugget;
    system(i, n) = system(n, i) = 1;
    for (Eigen::Index d = 1; d < q; ++d) system(i, n + d) = system(n + d, i) = xi[d - 1];
    const Point& point = points[static_cast<std::size_t>(i)];
    right(i) = std::log(point.value / point.reference);
  }
  // A feature that never varies makes its trend column redundant: pin it.
  for (std::size_t d = 0; d < dims_; ++d) {
    const auto at = n + 1 + static_cast<Eigen::Index>(d);
    if (high_[d] - low_[d] < kSamePoint) {
      system.row(at).setZero();
      system.col(at).setZero();
      system(at, at) = 1;
    }
  }
  const Eigen::VectorXd solution = system.partialPivLu().solve(right);
  weights_.assign(solution.data(), solution.data() + n);
  trend_.assign(solution.data() + n, solution.data() + n + q);
}

ScatterSurface::Answer ScatterSurface::at(const double* features, double reference) const {
  std::vector<double> clamped(features, features + dims_);
  Answer answer;
  for (std::size_t d = 0; d < dims_; ++d) {
    clamped[d] = std::min(std::max(features[d], low_[d]), high_[d]);
    answer.beyond += std::fabs(features[d] - clamped[d]);
  }
  double s = trend_[0];
  for (std::size_t d = 0; d < dims_; ++d) s += trend_[1 + d] * clamped[d];
  answer.nearest = 1e300;
  for (std::size_t i = 0; i < points_; ++i) {
    const double r = distance(clamped.data(), &x_[i * dims_], dims_);
    s -= weights_[i] * r;
    answer.nearest = std::min(answer.nearest, r);
  }
  answer.value = reference * std::exp(s);
  if (answer.beyond > kSamePoint) {
    answer.source = Source::extrapolated;
  } else if (answer.nearest > kSamePoint) {
    answer.source = Source::interpolated;
  }
  return answer;
}

}  // namespace plateau
