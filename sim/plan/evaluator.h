// Estimates and runs the points of a plan on threads that keep their runner, and what it remembers,
// from round to round.
//
// For objective request_rate a point's run is a bisection over Poisson rates: the highest that
// keeps all limits, to kRateTolerance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/plan/priced_steps.h"
#include "sim/sweep/sweep.h"

namespace plateau {

class Evaluator {
 public:
  Evaluator(Sweep& sweep, const PlanGoal& goal, int threads,
            std::function<void(const PlanProgress&)> progress);

  Evaluation evaluation();

  // Scores of repetitions 1..n of each option.
  std::vector<std::vector<double>> repeat(const std::vector<PlanOption>& options, int n);

  // "key=value"; for request_rate with the load that the point sustains.
  std::vector<std::string> sets_of(const Candidate& run) const;
  Scenario scenario_of(const std::vector<std::string>& sets) { return runners_[0].scenario(sets); }
  std::vector<std::string> warnings_of(const std::vector<std::string>& sets);

 private:
  template <class Result, class Work>
  std::vector<Result> all(const char* what, const std::vector<std::int64_t>& points,
                          const Work& work);

  bool bisects() const { return goal_.objective == "request_rate"; }
  PointEstimate estimate_point(PointRunner& runner, std::int64_t point);
  Candidate run_point(PointRunner& runner, std::int64_t point);
  void bisect(PointRunner& runner, std::int64_t point, const Deployment& as_is, double guess,
              Candidate* result) const;

  Sweep& sweep_;
  const PlanGoal& goal_;
  std::vector<PointRunner> runners_;
  PricedSteps prices_;
  std::function<void(const PlanProgress&)> progress_;
};

}  // namespace plateau
