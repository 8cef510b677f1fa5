// Finds the best point of a space without running all of it.
//
// Small spaces are run whole. In large ones every point is estimated (sim/plan/estimate.h, a few
// priced steps each), then rounds of runs follow: what a run said over what its estimate said is
// carried over to points nearby, the points that now look best are run next, and so on until the
// neighbours of the best point along every key are run and no round finds better, or the budget is
// spent. While nothing keeps the limits, `best` means the least broken.
//
// The budget is in simulated steps, counted against what running all points would take. Nothing is
// drawn at random but the first runs, whose seed is fixed; the result does not depend on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/estimate.h"
#include "sim/plan/goal.h"
#include "sim/sweep/point_space.h"

namespace plateau {

struct Candidate {
  std::int64_t point = 0;
  bool ok = false;
  std::string reason;  // infeasible
  Metrics metrics;
  double steps = 0;  // simulated
};

// Both keep the order of `points`.
struct Evaluation {
  std::function<std::vector<PointEstimate>(const std::vector<std::int64_t>& points)> estimates;
  std::function<std::vector<Candidate>(const std::vector<std::int64_t>& points)> runs;
};

struct SearchOptions {
  std::int64_t exhaustive = 100;  // spaces of at most so many points are run whole
  double budget = 0.08;           // of the steps of all points
};

struct SearchResult {
  std::string method;           // "exhaustive" | "guided"
  std::vector<Candidate> runs;  // in the order of points
  double steps = 0;             // simulated by the runs
  double priced = 0;            // steps priced for estimates
  double steps_of_all = 0;      // expected of all points; exhaustive: simulated
};

SearchResult search(const PointSpace& space, const PlanGoal& goal, const Evaluation& evaluation,
                    const SearchOptions& options);

// Whether a is the better answer: limits kept first, then the objective, then output tokens/s.
bool better(const PlanGoal& goal, const Candidate& a, const Candidate& b);

}  // namespace plateau
