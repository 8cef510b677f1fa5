// Watts of a board that nobody metered: from its power limit and the states of boards that were.
//
//   P_state = share of the limit, the median over the known boards; with the idle watts known,
//   idle is theirs and waiting adds the median of wait / idle
//   rates at which a copy and a GEMM draw their watts: the same medians of measured over peak rate
//
// Band 20 %: leaving one known board out misses its busy states by up to about that
// (docs/models.md). Refitting every public MoE run with an energy roofline and asking it for an
// unseen model misses by 14 to 19 %, a load-scaled power limit alone by two to four times the 13.5
// % of the best published model for unseen GPUs (arXiv 2607.02391). Wrong for boards whose limit is
// far below what the chip would draw (Max-Q parts) and for other makers' chips.
//
// Known boards and the origin of their watts: calibration/data/<device>/*/meta.yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/device_spec.h"
#include "models/kernel_costs.h"
#include "models/power.h"

namespace plateau {

struct BoardWatts {
  const char* name;  // DeviceSpec::name
  double limit_w;
  double idle_w;
  double wait_w;
  double busy_w;
  double memory_w;
  double tensor_w;
  double memory_share;  // of the peak bandwidth, where memory_w was read
  double tensor_share;  // of the BF16 peak, where tensor_w was read
};
const std::vector<BoardWatts>& known_boards();

struct PowerFallback {
  static constexpr double kBand = 0.20;

  PowerStates states;
  PowerLaw law;
};
// `leave_out`: a known board that must not be used, to test the law on it.
PowerFallback power_fallback(const DeviceSpec& device, std::optional<double> idle_w = {},
                             const std::string& leave_out = "");

}  // namespace plateau
