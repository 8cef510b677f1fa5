// Expert-load recordings: how many tokens each expert of each layer received over a run.
//
// CSV columns: `layer`, `e0`, `e1`, ... one per expert (counts, 0 or more), and optionally `trace`,
// the name of the recording; one row per layer. Counts are totals over a run: they say nothing of
// how the load moves from step to step. They feed RoutingLaw::counts (models/routing_law.h), law
// `replay`.
#pragma once

#include <string>
#include <vector>

#include "calibration/csv.h"

namespace plateau {

struct RoutingCounts {
  std::string trace;                        // "" when the file names none
  std::vector<int> layers;                  // the model's layer numbers, rising
  std::vector<std::vector<double>> counts;  // [as layers][expert]
};

// `trace` may be empty when the file holds only one. Throws InputError with every problem found.
RoutingCounts read_routing_counts(const std::string& path, const std::string& trace);
RoutingCounts routing_counts_of(const CsvTable& table, const std::string& trace);

}  // namespace plateau
