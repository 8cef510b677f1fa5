#include "calibration/power_curve.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

constexpr double kSlope = 0.05;  // of ln P for each doubling
constexpr double kSlopeSigma = 0.03;
constexpr double kSize = 0.10;  // of the smooth deviation, in ln P
constexpr double kLength = 2;   // of it, in doublings
constexpr double kNoise = 0.03;
constexpr double kLevelSigma = 5;  // of ln P: anything
constexpr double kCentre = 6;      // batch 64
constexpr double kLevel = 6;       // 403 W
constexpr double kP95 = 1.6448536269514722;
constexpr std::size_t kFewest = 3;  // batches of a series that can spare one

double x_of(double batch) { return std::log2(batch); }
double prior(double x) { return kLevel + kSlope * (x - kCentre); }

}  // namespace

double PowerCurve::covariance(double x, double other) const {
  const double apart = (x - other) / kLength;
  return kSize * kSize * std::exp(-apart * apart / 2) +
         kSlopeSigma * kSlopeSigma * (x - kCentre) * (other - kCentre) + kLevelSigma * kLevelSigma;
}

PowerCurve::PowerCurve(std::vector<PowerRun> runs) : runs_(std::move(runs)) {
  const auto n = static_cast<Eigen::Index>(runs_.size());
  Eigen::MatrixXd matrix(n, n);
  Eigen::VectorXd observed(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const PowerRun& run = runs_[static_cast<std::size_t>(i)];
    observed(i) = std::log(run.watts) - prior(x_of(run.batch));
    for (Eigen::Index j = 0; j < n; ++j) {
      matrix(i, j) = covariance(x_of(run.batch), x_of(runs_[static_cast<std::size_t>(j)].batch)) +
                     (i == j ? kNoise * kNoise : 0);
    }
  }
  const Eigen::MatrixXd inverse = matrix.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  const Eigen::VectorXd weights = inverse * observed;
  weights_.assign(weights.data(), weights.data() + n);
  precision_.assign(inverse.data(), inverse.data() + n * n);
}

Estimate PowerCurve::watts(double batch) const {
  const double x = x_of(std::max(batch, 1.0));
  const std::size_t n = runs_.size();
  std::vector<double> to(n);
  for (std::size_t i = 0; i < n; ++i) to[i] = covariance(x, x_of(runs_[i].batch));
  double mean = prior(x);
  double variance = covariance(x, x) + kNoise * kNoise;
  for (std::size_t i = 0; i < n; ++i) {
    mean += to[i] * weights_[i];
    for (std::size_t j = 0; j < n; ++j) variance -= to[i] * precision_[i * n + j] * to[j];
  }
  const double spread = kP95 * std::sqrt(std::max(variance, kNoise * kNoise));
  const auto [least, most] =
      std::minmax_element(runs_.begin(), runs_.end(),
                          [](const PowerRun& a, const PowerRun& b) { return a.batch < b.batch; });
  const bool inside = batch >= least->batch && batch <= most->batch;
  return {std::exp(mean), std::exp(mean - spread), std::exp(mean + spread),
          inside ? Source::interpolated : Source::extrapolated};
}

namespace {

void leave_out(PowerSeries& series) {
  if (series.runs.size() < kFewest) return;
  for (std::size_t i = 0; i < series.runs.size(); ++i) {
    std::vector<PowerRun> others = series.runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const double batch = series.runs[i].batch;
    series.left_out.push_back({series.runs[i], PowerCurve(std::move(others)).watts(batch)});
  }
  for (const LeftOutRun& run : series.left_out) {
    const double error = std::fabs(run.error());
    series.mean_error += error / static_cast<double>(series.left_out.size());
    series.worst_error = std::max(series.worst_error, error);
  }
  series.edge_error =
      (std::fabs(series.left_out.front().error()) + std::fabs(series.left_out.back().error())) / 2;
}

}  // namespace

PowerRunsSummary read_power_runs(const std::string& path, const std::vector<std::string>& where) {
  SeriesTable table(path, where);
  const std::size_t batch = table.column_of({"batch", "mean_running", "max_num_seqs"});
  const std::size_t watts = table.column_of({"power_w", "gpu_w_mean", "power_per_gpu_w"});
  PowerRunsSummary summary;
  for (const TableSeries& of : table.series()) {
    PowerSeries series;
    series.name = of.name;
    series.labels = of.labels;
    for (const std::size_t row : of.rows) {
      const auto size = table.positive(row, batch);
      const auto power = table.positive(row, watts);
      if (size && power) series.runs.push_back({*size, *power, table.table().line(row)});
    }
    std::stable_sort(series.runs.begin(), series.runs.end(),
                     [](const PowerRun& a, const PowerRun& b) { return a.batch < b.batch; });
    summary.series.push_back(std::move(series));
  }
  table.finish();
  if (table.rows_left_out() > 0) summary.skipped.emplace_back("by --where", table.rows_left_out());
  if (summary.series.empty()) {
    throw InputError(Problem{path, 0, 0, "", "no row is left", "see --where"});
  }
  for (PowerSeries& series : summary.series) leave_out(series);
  return summary;
}

PowerCurve read_power_curve(const std::string& path) {
  PowerRunsSummary summary = read_power_runs(path, {});
  if (summary.series.size() != 1) {
    throw InputError(Problem{path, 0, 0, "calibration.power_runs",
                             "holds " + std::to_string(summary.series.size()) + " configurations",
                             "leave the rows of one, the scenario's"});
  }
  return PowerCurve(std::move(summary.series.front().runs));
}

}  // namespace plateau
