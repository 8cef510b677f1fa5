#include "calibration/fit/robust_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace plateau {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kHuber = 1.345;
constexpr double kNormalMad = 1.4826;  // standard deviation over median absolute deviation
constexpr double kDifference = 1e-4;   // of a variable's unit
constexpr int kMostSteps = 60;
constexpr double kConverged = 1e-10;  // of a variable's unit
constexpr double kSingular = 1e-9;    // smallest over largest singular value of the scaled J

double median_absolute(const VectorXd& r) {
  std::vector<double> sizes(static_cast<std::size_t>(r.size()));
  for (Eigen::Index i = 0; i < r.size(); ++i) sizes[static_cast<std::size_t>(i)] = std::abs(r[i]);
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

class Solver {
 public:
  Solver(const std::vector<FitVariable>& variables, const Residuals& residuals, double noise)
      : variables_(variables), residuals_(residuals), noise_(noise) {
    for (const FitVariable& v : variables) x_.push_back(std::min(v.high, std::max(v.low, v.start)));
  }

  RobustFit solve() {
    VectorXd r = at(x_);
    double damping = 1e-3;
    for (int step = 0; step < kMostSteps && !x_.empty() && r.size() > 0; ++step) {
      const double s = scale_of(r);
      const MatrixXd j = slopes(x_);
      const VectorXd w = weights(r, s);
      bool moved = false;
      while (damping < 1e9) {
        const std::vector<double> next = step_from(j, w, r, damping);
        const VectorXd r_next = at(next);
        if (loss(r_next, s) <= loss(r, s)) {
          moved = distance(next) > kConverged;
          x_ = next;
          r = r_next;
          damping = std::max(damping * 0.2, 1e-12);
          break;
        }
        damping *= 8;
      }
      if (!moved) break;
    }
    return finish(r);
  }

 private:
  VectorXd at(const std::vector<double>& x) const {
    const std::vector<double> r = residuals_(x);
    return Eigen::Map<const VectorXd>(r.data(), static_cast<Eigen::Index>(r.size()));
  }

  double scale_of(const VectorXd& r) const {
    return std::max(noise_, kNormalMad * median_absolute(r));
  }

  // In units of the variables; one-sided at a bound.
  MatrixXd slopes(const std::vector<double>& x) const {
    MatrixXd j;
    for (std::size_t v = 0; v < x.size(); ++v) {
      const double h = kDifference * variables_[v].unit;
      std::vector<double> up = x;
      std::vector<double> down = x;
      up[v] = std::min(x[v] + h, variables_[v].high);
      down[v] = std::max(x[v] - h, variables_[v].low);
      const VectorXd column = (at(up) - at(down)) * (variables_[v].unit / (up[v] - down[v]));
      if (j.cols() == 0) j = MatrixXd::Zero(column.size(), static_cast<Eigen::Index>(x.size()));
      j.col(static_cast<Eigen::Index>(v)) = column;
    }
    return j;
  }

  static VectorXd weights(const VectorXd& r, double s) {
    return r.unaryExpr([s](double value) {
      const double size = std::abs(value) / s;
      return size <= kHuber ? 1.0 : kHuber / size;
    });
  }

  static double loss(const VectorXd& r, double s) {
    double sum = 0;
    for (const double value : r) {
      const double size = std::abs(value) / s;
      sum += size <= kHuber ? 0.5 * size * size : kHuber * (size - 0.5 * kHuber);
    }
    return sum;
  }

  // Variables that sit at a bound and would leave it do not move.
  std::vector<double> step_from(const MatrixXd& j, const VectorXd& w, const VectorXd& r,
                                double damping) const {
    const VectorXd gradient = j.transpose() * w.cwiseProduct(r);
    MatrixXd normal = j.transpose() * w.asDiagonal() * j;
    VectorXd right = -gradient;
    for (Eigen::Index v = 0; v < right.size(); ++v) {
      const std::size_t i = static_cast<std::size_t>(v);
      const bool stuck = (x_[i] <= variables_[i].low && gradient[v] > 0) ||
                         (x_[i] >= variables_[i].high && gradient[v] < 0);
      if (stuck) {
        normal.row(v).setZero();
        normal.col(v).setZero();
        right[v] = 0;
      }
      normal(v, v) += damping * std::max(normal(v, v), 1e-12) + (stuck ? 1 : 0);
    }
    const VectorXd move = normal.ldlt().solve(right);
    std::vector<double> next = x_;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const double step = move[static_cast<Eigen::Index>(i)] * variables_[i].unit;
      if (std::isfinite(step))
        next[i] = std::min(variables_[i].high, std::max(variables_[i].low, x_[i] + step));
    }
    return next;
  }

  double distance(const std::vector<double>& next) const {
    double largest = 0;
    for (std::size_t i = 0; i < next.size(); ++i)
      largest = std::max(largest, std::abs(next[i] - x_[i]) / variables_[i].unit);
    return largest;
  }

  RobustFit finish(const VectorXd& r) const {
    RobustFit fit;
    fit.values = x_;
    fit.residuals.assign(r.data(), r.data() + r.size());
    fit.scale = r.size() > 0 ? scale_of(r) : noise_;
    fit.errors.assign(x_.size(), std::numeric_limits<double>::infinity());
    if (x_.empty() || r.size() == 0) return fit;
    const MatrixXd j = slopes(x_);
    for (Eigen::Index v = 0; v < j.cols(); ++v) {
      const double unit = variables_[static_cast<std::size_t>(v)].unit;
      std::vector<double> column(static_cast<std::size_t>(j.rows()));
      for (Eigen::Index i = 0; i < j.rows(); ++i)
        column[static_cast<std::size_t>(i)] = j(i, v) / unit;
      fit.slopes.push_back(std::move(column));
    }
    if (r.size() > j.cols()) set_errors(j, r, fit);
    return fit;
  }

  void set_errors(const MatrixXd& j, const VectorXd& r, RobustFit& fit) const {
    const double s = fit.scale;
    const auto n = static_cast<double>(r.size());
    const auto p = static_cast<double>(j.cols());
    const VectorXd psi = weights(r, s).cwiseProduct(r);
    const double inside =
        static_cast<double>((r.array().abs() <= kHuber * s).count()) / n;  // mean psi'
    const double k = 1 + p / n * (1 - inside) / std::max(inside, 1e-3);
    const double variance =
        std::max(noise_ * noise_, k * k * psi.squaredNorm() / (n - p) / (inside * inside));
    const Eigen::JacobiSVD<MatrixXd> svd(j, Eigen::ComputeThinV);
    const VectorXd& singular = svd.singularValues();
    for (Eigen::Index v = 0; v < j.cols(); ++v) {
      double sum = 0;
      for (Eigen::Index d = 0; d < singular.size(); ++d) {
        const double part = svd.matrixV()(v, d);
        const bool unknown = singular[d] <= kSingular * singular[0] || singular[0] == 0;
        if (unknown && std::abs(part) > 1e-6) sum = std::numeric_limits<double>::infinity();
        if (!unknown) sum += part * part / (singular[d] * singular[d]);
      }
      const auto i = static_cast<std::size_t>(v);
      fit.errors[i] = std::sqrt(variance * sum) * variables_[i].unit;
    }
  }

  const std::vector<FitVariable>& variables_;
  const Residuals& residuals_;
  double noise_;
  std::vector<double> x_;
};

}  // namespace

RobustFit robust_fit(const std::vector<FitVariable>& variables, const Residuals& residuals,
                     double noise) {
  return Solver(variables, residuals, noise).solve();
}

}  // namespace plateau
