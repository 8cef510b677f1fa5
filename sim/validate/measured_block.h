// Predictions beside the figures of scenarios' own `measured:` blocks (sim/scenario/measured.h).
//
// A point is its scenario with the point's `set` over it, run and compared; a point with a `batch`
// is one decode step, priced and not run; figures of the KV pool alone need neither a scheduler nor
// a profile, so a vLLM server's pool can be compared although its scheduler is not modelled.
// Pools are compared as the rule derives them: a given pool would be compared with itself.
#pragma once

#include <string>
#include <vector>

#include "sim/validate/validation.h"

namespace plateau {

struct MeasuredBlockOptions {
  std::vector<std::string> paths;  // scenarios, and folders of them
  std::string data_dir;
  std::vector<std::string> sets;  // over the scenario, under the point's own
};

// Throws InputError with every problem of every file. Files of a folder without a block are passed
// over.
Validation validate_scenarios(const MeasuredBlockOptions& options);

// A scenario or a folder, by its name; else a table of measured rows.
bool is_scenario_path(const std::string& path);

std::string scenario_rows_text(const Validation& validation, int columns);

}  // namespace plateau
