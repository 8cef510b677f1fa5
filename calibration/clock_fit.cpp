#include "calibration/clock_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "models/step_cost.h"

namespace plateau {

namespace {

constexpr std::size_t kFewest = 3;  // caps of a sweep
constexpr int kGrid = 24;           // points of each axis and refinement
constexpr int kRefinements = 5;
constexpr double kLowestClock = 0.1;  // of the largest: the law's own end

// Static watts and the amplitudes for one shape of V^2: linear least squares of relative residuals.
struct Linear {
  double static_w = 0;
  double squares = 0;
};

Linear solve(const std::vector<CapSweep>& sweeps, const ClockLaw& law) {
  std::size_t n = 0;
  for (const CapSweep& sweep : sweeps) n += sweep.points.size();
  const auto columns = static_cast<Eigen::Index>(sweeps.size() + 1);
  Eigen::MatrixXd design = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n), columns);
  Eigen::Index row = 0;
  for (std::size_t s = 0; s < sweeps.size(); ++s) {
    for (const CapPoint& point : sweeps[s].points) {
      design(row, 0) = 1 / point.watts;
      design(row, static_cast<Eigen::Index>(s + 1)) = dynamic_factor(law, point.mhz) / point.watts;
      ++row;
    }
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(n));
  Eigen::VectorXd answer = design.colPivHouseholderQr().solve(ones);
  if (answer(0) < 0) {
    answer(0) = 0;
    const Eigen::MatrixXd rest = design.rightCols(columns - 1);
    answer.tail(columns - 1) = rest.colPivHouseholderQr().solve(ones);
  }
  return {answer(0), (design * answer - ones).squaredNorm() / static_cast<double>(n)};
}

void fit_voltage(const std::vector<CapSweep>& sweeps, ClockFit& fit) {
  double low_knee = 0.5, high_knee = 0.99, low_rise = 0, high_rise = 2;  // knee in shares of max
  double least = 1e300;
  ClockLaw best = fit.law;
  for (int refinement = 0; refinement < kRefinements; ++refinement) {
    for (int i = 0; i <= kGrid; ++i) {
      for (int j = 0; j <= kGrid; ++j) {
        ClockLaw law = fit.law;
        law.knee_mhz = law.max_mhz * (low_knee + (high_knee - low_knee) * i / kGrid);
        law.voltage_rise = low_rise + (high_rise - low_rise) * j / kGrid;
        const Linear at = solve(sweeps, law);
        if (at.squares >= least) continue;
        least = at.squares;
        law.static_w = at.static_w;
        best = law;
      }
    }
    const double knee = best.knee_mhz / best.max_mhz;
    const double knee_step = 2 * (high_knee - low_knee) / kGrid;
    const double rise_step = 2 * (high_rise - low_rise) / kGrid;
    low_knee = std::max(0.5, knee - knee_step);
    high_knee = std::min(0.99, knee + knee_step);
    low_rise = std::max(0.0, best.voltage_rise - rise_step);
    high_rise = best.voltage_rise + rise_step;
  }
  fit.law = best;
  fit.power_residual = std::sqrt(least);
}

// s of 1 / rate = t (1 + s x), x = f_max / f - 1; relative residuals.
double share_of(const CapSweep& sweep, double max_mhz) {
  Eigen::MatrixXd design(static_cast<Eigen::Index>(sweep.points.size()), 2);
  Eigen::Index row = 0;
  for (const CapPoint& point : sweep.points) {
    design.row(row++) << point.rate, point.rate * (max_mhz / point.mhz - 1);
  }
  const Eigen::VectorXd answer =
      design.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(design.rows()));
  return std::clamp(answer(1) / answer(0), 0.0, 1.0);
}

StepCost anchor_step(const ClockLaw& law, const CapPoint& anchor) {
  StepCost step;
  step.seconds = 1 / anchor.rate;
  step.joules = anchor.watts * step.seconds;
  step[Part::moe] = {step.seconds, step.joules};
  step.clock_seconds[static_cast<std::size_t>(Part::moe)] = law.base_share * step.seconds;
  return step;
}

}  // namespace

ClockFit fit_clock(const std::vector<CapSweep>& sweeps, double max_mhz) {
  ClockFit fit;
  for (const CapSweep& sweep : sweeps) {
    for (const CapPoint& point : sweep.points) max_mhz = std::max(max_mhz, point.mhz);
  }
  fit.law.max_mhz = max_mhz;
  fit.law.min_mhz = kLowestClock * max_mhz;
  fit.law.source = Source::measured;
  fit_voltage(sweeps, fit);
  for (const CapSweep& sweep : sweeps) fit.shares.push_back(share_of(sweep, max_mhz));
  for (const double share : fit.shares)
    fit.law.base_share += share / static_cast<double>(fit.shares.size());
  return fit;
}

std::vector<CapPrediction> predict_sweep(const ClockLaw& law, const CapSweep& sweep) {
  std::vector<CapPrediction> predictions;
  const StepCost full = anchor_step(law, sweep.points.front());
  for (const CapPoint& point : sweep.points) {
    const double mhz = clock_under_limit(full, law, point.cap_w);
    predictions.push_back({point, mhz, 1 / at_clock(full, law, mhz).seconds});
  }
  return predictions;
}

namespace {

std::vector<CapSweep> read_sweeps(SeriesTable& table, SkippedRows& skipped) {
  const std::size_t cap = table.column_of({"power_cap_w", "power_limit_w"});
  const std::size_t watts = table.column_of({"power_w", "power_draw_w"});
  const std::size_t clock = table.column_of({"sm_mhz", "sm_clock_mhz"});
  const std::size_t rate = table.column_of({"throughput", "output_tok_s"});
  std::vector<CapSweep> sweeps;
  int alone = 0;
  for (const TableSeries& of : table.series()) {
    if (of.rows.size() < kFewest) {
      alone += static_cast<int>(of.rows.size());
      continue;
    }
    CapSweep sweep{of.name, of.labels, {}};
    for (const std::size_t row : of.rows) {
      const auto c = table.positive(row, cap), w = table.positive(row, watts),
                 f = table.positive(row, clock), r = table.positive(row, rate);
      if (c && w && f && r) sweep.points.push_back({*c, *w, *f, *r, table.table().line(row)});
    }
    std::stable_sort(sweep.points.begin(), sweep.points.end(),
                     [](const CapPoint& a, const CapPoint& b) { return a.cap_w > b.cap_w; });
    sweeps.push_back(std::move(sweep));
  }
  table.finish();
  if (alone > 0) skipped.emplace_back("of series with fewer than 3 caps", alone);
  if (table.rows_left_out() > 0) skipped.emplace_back("by --where", table.rows_left_out());
  return sweeps;
}

}  // namespace

CapSweepSummary read_cap_sweeps(const std::string& path, const std::vector<std::string>& where,
                                const std::string& hold_out) {
  SeriesTable table(path, where);
  CapSweepSummary summary;
  const std::vector<CapSweep> sweeps = read_sweeps(table, summary.skipped);
  if (sweeps.empty()) {
    throw InputError(Problem{path, 0, 0, "power_cap_w", "no series has 3 caps", "see --where"});
  }
  summary.fit = fit_clock(sweeps);
  for (const CapSweep& sweep : sweeps) {
    const auto label_of = [&](const CapSweep& of) {
      const auto found = of.labels.find(hold_out);
      return found == of.labels.end() ? of.name : found->second;
    };
    std::vector<CapSweep> others;
    CapSweepResult result{sweep, "", {}, 0};
    for (const CapSweep& other : sweeps) {
      if (label_of(other) == label_of(sweep)) continue;
      others.push_back(other);
      result.fitted_on += (result.fitted_on.empty() ? "" : "; ") + other.name;
    }
    if (others.empty()) continue;
    result.predictions = predict_sweep(fit_clock(others, summary.fit.law.max_mhz).law, sweep);
    for (const CapPrediction& at : result.predictions)
      result.worst_error = std::max(result.worst_error, std::fabs(at.error()));
    summary.held_out.push_back(std::move(result));
  }
  return summary;
}

}  // namespace plateau
