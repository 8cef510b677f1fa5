// kernels.csv of a measured profile, as operations.
//
// One row is one operation of one geometry at one number of tokens: graph-replay latency (median)
// and, on some rows, the board's mean watts while it loops. geometries.csv beside it gives each
// model name its per-GPU shape. Columns and units: calibration/collect/README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/op.h"

namespace plateau {

struct MeasuredRow {
  OpCall call;
  double seconds = 0;
  double spread = 0;  // (p90 - p10) / 2 / median
  std::optional<double> watts;
  bool throttled = false;  // SM clock fell while looping: the watts belong to a slower kernel
  double clock = 1;        // SM clock while looping over the largest, where it was read
  std::string board;       // "" = the profile's own
  std::string model;       // whose shape it is
};

std::vector<MeasuredRow> read_measured_rows(const std::string& folder, double sm_clock_mhz);

}  // namespace plateau
