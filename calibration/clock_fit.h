// The clock law of a board from power-cap sweeps: models/clock.h, its constants by least squares.
//
//   watts  P = static + a_series * f V^2 / (f_max V_max^2)     static, knee and rise shared,
//   relative time   1 / rate = t_series (1 + s (f_max / f - 1))         s of each series, their
//   mean is the law's
//
// A held-out series is predicted from its run without a cap alone: at each cap the largest clock
// whose watts fit, then the time at that clock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/series_table.h"
#include "models/clock.h"

namespace plateau {

struct CapPoint {
  double cap_w = 0;
  double watts = 0;
  double mhz = 0;
  double rate = 0;  // throughput, in any unit
  int line = 0;
};

struct CapSweep {
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<CapPoint> points;  // by falling cap; the first is the anchor
};

// `max_mhz`: 0 takes the largest clock of the sweeps.
struct ClockFit {
  ClockLaw law;
  std::vector<double> shares;  // by sweep
  double power_residual = 0;   // root mean square, relative
};
ClockFit fit_clock(const std::vector<CapSweep>& sweeps, double max_mhz = 0);

struct CapPrediction {
  CapPoint point;
  double mhz = 0;
  double rate = 0;
  double error() const { return rate / point.rate - 1; }
};
// Every point of the sweep, the anchor first, from its anchor and the law.
std::vector<CapPrediction> predict_sweep(const ClockLaw& law, const CapSweep& sweep);

struct CapSweepResult {
  CapSweep sweep;
  std::string fitted_on;  // what its law saw: names of the others
  std::vector<CapPrediction> predictions;
  double worst_error = 0;
};

struct CapSweepSummary {
  ClockFit fit;  // of all sweeps
  std::vector<CapSweepResult> held_out;
  SkippedRows skipped;
};

// Columns: power_cap_w, watts (power_w or power_draw_w), clock (sm_mhz or sm_clock_mhz),
// throughput. A sweep is left out together with all others of its `hold_out` label, so that a
// model's rows never set the law that they test. Throws InputError.
CapSweepSummary read_cap_sweeps(const std::string& path, const std::vector<std::string>& where,
                                const std::string& hold_out);

}  // namespace plateau
