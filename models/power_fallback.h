// Watts of a board that nobody metered: an energy roofline in shares of its power limit.
//
//   P / limit = busy + memory * (bytes/s / peak bandwidth) + tensor * (FLOP/s / BF16 peak), at most
//   1 idle and wait likewise; with the idle watts known, waiting adds the median of wait / idle
//
// Each share is the median over the boards below. Two of them come from whole mixture-of-experts
// runs, where small tiles make a FLOP three times as dear as in a large GEMM and where a kernel
// costs some 40 to 50 % of the limit whatever it does; looped kernels alone give less.
//
//   h100-sxm, b200-sxm   P0 276 and 510 W, 95 and 59 pJ/byte, 3.2 and 0.9 pJ per model FLOP: refit
//   of
//                        the MoE runs of ML.ENERGY v3 (leaderboard commit 0cd52dab); B200 states
//                        from its profile's meta.yaml
//   h200-sxm, rtx-pro-6000-server   states of their profiles' meta.yaml (looped kernels, cap
//   sweeps)
//
// Band 20 %: such a roofline misses an unseen model by 14 to 19 % on the GPU it was made for; the
// best published model for unseen GPUs by 13.5 %, a load-scaled power limit by two to four times
// that (arXiv 2607.02391). docs/validation.md leaves each GPU out. Wrong for boards whose limit is
// far below what the chip would draw (Max-Q parts), for launch-bound small batches (too hot) and
// for other makers' chips.
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
  double idle_w;    // 0: not known
  double wait_w;    // 0: not known
  double busy_w;    // while any kernel runs
  double memory_w;  // more at the peak bandwidth
  double tensor_w;  // more at the BF16 peak
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
