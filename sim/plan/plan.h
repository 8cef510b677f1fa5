// The best configuration of a scenario under limits: `plateau plan`.
//
// The space is given as for a sweep or, without --vary, derived from the scenario: the caps, chunk
// sizes and flags of its engine, power limits where the profile has a clock law, and, unless the
// scenario gives the KV pool (which belongs to one device, TP and memory fraction), TP, memory
// fraction, KV type and every shipped device with a profile of the same engine.
//
// Objective request_rate: at each point the highest Poisson rate that the point sustains, by
// bisection to kRateTolerance; sustained as sim/plan/goal.h says.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan/search.h"
#include "sim/sweep/point_runner.h"

namespace plateau {

inline constexpr double kRateTolerance = 0.01;

struct PlanRequest {
  std::string scenario;
  ScenarioOptions options;
  SpaceRequest space;  // vary empty: the default space
  GoalRequest goal;
  SearchOptions search;
  int threads = 1;
  int repetitions = 0;  // of the best points
  int best = 5;         // how many to give
};

struct PlanOption {  // one of the best points
  Candidate run;
  std::vector<std::string> sets;  // "key=value"
  std::string command;            // to launch it; "" when the engine has none
  std::optional<Interval> score;  // p5-p95 of the objective, in its own sign
  bool within_noise = false;      // of the first: the difference may be either way
};

struct LimitExcess {
  std::string limit;
  double least = 0;  // relative, over all points that ran
  double value = 0;  // of the point that breaks it least, in the metric's unit
  std::string metric;
  bool excludes_all = false;
};

struct PlanResult {
  PlanGoal goal;
  std::vector<Variation> keys;
  std::int64_t points = 0;
  SearchResult search;
  std::vector<PlanOption> best;   // best first; empty: nothing keeps the limits
  std::vector<Candidate> pareto;  // most tok/s, fewest watts, least TPOT p50; among those kept
  std::vector<LimitExcess> limits;
  std::int64_t infeasible = 0;
  std::string first_reason;  // of an infeasible point
  int repetitions = 0;
};

PlanResult plan(const PlanRequest& request);  // throws InputError

std::string plan_text(const PlanRequest& request, const PlanResult& result);
std::string plan_json(const PlanRequest& request, const PlanResult& result);  // plateau-plan/1

// "python -m sglang.launch_server --model-path ... --tp 8 ..."; "" for other engines.
std::string launch_command(const Scenario& scenario);

// Keys and values to try when none are given.
std::vector<std::string> default_space(const Scenario& scenario, const ClockLaw& clock,
                                       double power_limit_w,
                                       const std::vector<std::string>& profiles);

}  // namespace plateau
