#include "calibration/measured_power.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

constexpr int kTerms = 3;  // fixed, per byte/s, per FLOP/s
constexpr int kMinimumRows = 4;
constexpr int kReweightings = 12;

struct Sample {
  std::string model;
  double bytes_per_s;
  double flops_per_s;
  double dynamic_w;
  double weight;
};

// Non-negative least squares by dropping the most negative term; relative residuals, one-norm by
// reweighting, so that a reading that caught the previous kernel's power does not pull the fit.
OpPower fit(std::vector<Sample> samples, double floor_w) {
  OpPower best;
  best.rows = static_cast<int>(samples.size());
  std::vector<bool> used(kTerms, true);
  Eigen::Vector3d answer = Eigen::Vector3d::Zero();
  for (int round = 0; round < kReweightings; ++round) {
    Eigen::MatrixXd design(static_cast<Eigen::Index>(samples.size()), kTerms);
    Eigen::VectorXd right(static_cast<Eigen::Index>(samples.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& s = samples[i];
      const auto row = static_cast<Eigen::Index>(i);
      const double scale = s.weight / (s.dynamic_w + floor_w);
      design.row(row) << (used[0] ? scale : 0), (used[1] ? scale * s.bytes_per_s * 1e-12 : 0),
          (used[2] ? scale * s.flops_per_s * 1e-15 : 0);
      right(row) = scale * s.dynamic_w;
    }
    answer = design.completeOrthogonalDecomposition().solve(right);
    Eigen::Index worst = 0;
    if (answer.minCoeff(&worst) < -1e-9) {
      used[static_cast<std::size_t>(worst)] = false;
      --round;
      continue;
    }
    double squares = 0;
    for (Sample& s : samples) {
      const double predicted =
          answer(0) + answer(1) * s.bytes_per_s * 1e-12 + answer(2) * s.flops_per_s * 1e-15;
      const double residual = (predicted - s.dynamic_w) / (s.dynamic_w + floor_w);
      squares += residual * residual;
      s.weight = 1 / std::sqrt(std::max(std::fabs(residual), 0.02));
    }
    best.residual = std::sqrt(squares / static_cast<double>(samples.size()));
  }
  best.fixed_w = answer(0);
  best.per_byte = answer(1) * 1e-12;
  best.per_flop = answer(2) * 1e-15;
  return best;
}

// Looped readings are noisy and a model's mean is not: the mean of a left-out model's residuals is
// the error that a fit carries to a shape it has not seen.
double misfit_of(const std::vector<Sample>& samples, double floor_w) {
  std::map<std::string, std::vector<Sample>> by_model;
  for (const Sample& s : samples) by_model[s.model].push_back(s);
  double squares = 0;
  int models = 0;
  for (const auto& [model, own] : by_model) {
    std::vector<Sample> others;
    for (const Sample& s : samples) {
      if (s.model != model) others.push_back(s);
    }
    if (others.size() < static_cast<std::size_t>(kMinimumRows)) continue;
    const OpPower law = fit(others, floor_w);
    double sum = 0;
    for (const Sample& s : own) {
      const double predicted =
          law.fixed_w + law.per_byte * s.bytes_per_s + law.per_flop * s.flops_per_s;
      sum += (predicted - s.dynamic_w) / (s.dynamic_w + floor_w);
    }
    const double mean = sum / static_cast<double>(own.size());
    squares += mean * mean;
    ++models;
  }
  return models > 1 ? std::sqrt(squares / models) : 0;
}

}  // namespace

MeasuredPower::MeasuredPower(const std::vector<MeasuredRow>& rows, double floor_w,
                             const std::string& own_board) {
  std::map<Op, std::vector<Sample>> samples;
  std::vector<Sample> all;
  for (const MeasuredRow& row : rows) {
    if (!row.watts || row.throttled || row.board != own_board) continue;
    const Work work = work_of(row.call);
    const Sample sample{row.model, work.bytes / row.seconds, work.flops / row.seconds,
                        std::max(0.0, *row.watts - floor_w), 1};
    samples[row.call.op].push_back(sample);
    all.push_back(sample);
  }
  if (all.empty()) return;
  overall_ = fit(all, floor_w);
  overall_.misfit = misfit_of(all, floor_w);
  for (const auto& [op, of_op] : samples) {
    if (of_op.size() < kMinimumRows) continue;
    OpPower& law = ops_[op] = fit(of_op, floor_w);
    const double misfit = misfit_of(of_op, floor_w);
    law.misfit = misfit > 0 ? misfit : overall_.misfit;
  }
}

const OpPower& MeasuredPower::of(Op op) const {
  const auto found = ops_.find(op);
  return found == ops_.end() ? overall_ : found->second;
}

double MeasuredPower::dynamic_watts(const OpCall& call, double seconds) const {
  if (seconds <= 0) return 0;
  const OpPower& law = of(call.op);
  const Work work = work_of(call);
  return law.fixed_w + (law.per_byte * work.bytes + law.per_flop * work.flops) / seconds;
}

}  // namespace plateau
