// The best configuration of a scenario under limits: `plateau plan`.
//
// The space is given as for a sweep or, without --vary, derived from the scenario: the caps, chunk
// sizes and flags of its engine, power limits where the profile has a clock law, and, unless the
// scenario gives the KV pool (which belongs to one device, TP and memory fraction), TP, memory
// fraction, KV type and every shipped device with a profile of the same engine.
//
// Objective request_rate: at each point the highest rate that the point sustains, by bisection to
// kRateTolerance; sustained as sim/plan/goal.h says. A closed loop is asked as a Poisson stream, an
// open one keeps its kind, a trace is sent faster or slower.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan/search.h"
#include "sim/sweep/point_runner.h"

namespace plateau {

inline constexpr double kRateTolerance = 0.01;

struct PlanProgress {
  const char* what = "";  // "estimated", "simulated", "repeated"
  std::int64_t done = 0;
  std::int64_t total = 0;  // of this round
};

struct PlanRequest {
  std::string scenario;
  ScenarioOptions options;
  SpaceRequest space;  // vary empty: the default space
  GoalRequest goal;
  SearchOptions search;
  int threads = 1;
  int repetitions = 0;                                  // of the best points
  int best = 5;                                         // how many to give
  std::function<void(const PlanProgress&)> progress{};  // one call at a time, from any thread
};

struct PlanOption {  // one of the best points
  Candidate run;
  std::vector<std::string> sets;         // "key=value"
  std::string command;                   // to launch it; "" when the engine has none
  std::optional<Interval> score;         // p5-p95 of the objective, in its own sign
  bool within_noise = false;             // of the first: the difference may be either way
  std::vector<std::int64_t> same{};      // other points with the very same figures
  std::vector<std::string> same_sets{};  // how they differ: "hardware.power_limit=420 W, 480 W"
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
  std::string question;  // of the scenario
  std::optional<PointSpace> space;
  SearchResult search;
  std::vector<PlanOption> best;   // best first; empty: nothing keeps the limits
  std::vector<Candidate> pareto;  // most tok/s, fewest watts, least TPOT p50; among those kept
  std::vector<LimitExcess> limits;
  std::int64_t infeasible = 0;
  std::string first_reason;  // of an infeasible point
  int repetitions = 0;
  std::vector<std::string> warnings;  // of the best points
};

PlanResult plan(const PlanRequest& request);  // throws InputError

std::string plan_text(const PlanResult& result, const TextOptions& options = {});
std::string plan_json(const PlanRequest& request, const PlanResult& result);  // plateau-plan/1

// The points that ran as a Pareto explorer (sim/report/page.h).
std::string plan_page(const PlanRequest& request, const PlanResult& result);

// "python -m sglang.launch_server --model-path ... --tp 8 ..."; "" for other engines. `model` is
// what the scenario writes: the folder of a config.json, a shipped spec's Hugging Face name where
// its source states one, else a placeholder.
std::string launch_command(const Scenario& scenario, const std::string& model);

// Keys and values to try when none are given; replicas where GPUs are what is asked for.
std::vector<std::string> default_space(const Scenario& scenario, const std::string& objective,
                                       const ClockLaw& clock, double power_limit_w,
                                       const std::vector<std::string>& profiles);

}  // namespace plateau
