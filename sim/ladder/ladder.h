// Which limit binds, by how much, and what each knob is worth, found by running the scenario again:
// no formula stands between a rung and two reports of `plateau run`.
//
//   rung      the scenario with one knob relaxed (sim/ladder/knobs.h); gain = its output tok/s less
//             the run's own; binds_next = what that run names as its binding constraint
//   marginal  (output tok/s with the nudge - without) / amount
//   climb     the limit that gives most is relaxed, then of the others the one that gives most on
//             top of it, and so on; ends when none gives 0.1 %
// Whole-run figures hold the last, partly filled wave of requests; a knob that changes the number
// of waves moves them by more than its plateau, so the steady state stands beside each.
#pragma once

#include <string>

#include "sim/report/report.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

// Fills report.binding.ladder and climb. `report` is the run of the scenario at `path` under
// `options`, whose data_dir is set. A knob that the scenario refuses stays in the ladder with the
// reason. Throws InputError when the scenario itself cannot be read.
void add_ladder(const std::string& path, const ScenarioOptions& options, Report* report);

}  // namespace plateau
