// What a lower SM clock, chosen by hand or by a power cap, does to a step.
//
//   time   t(f) = t(f_max) * (1 - s + s * f_max / f)      s = share of an operation's time that
//   waits for the SMs power  P(f) = static + (P(f_max) - static) * f V(f)^2 / (f_max V(f_max)^2)
//   V(f)^2 = 1 up to the knee, then 1 + rise * ((f - knee) / (f_max - knee))^2     (relative to the
//   voltage floor)
//
// s = base + (1 - base) * (achieved FLOP/s over peak): streaming kernels still issue loads from the
// SMs, tensor-bound ones wait for nothing else; collectives do not care. A cap is kept by the mean
// of a step: the controller averages over about a second, so single kernels may draw more. It picks
// the largest clock whose mean power fits; above it nothing changes, to the bit. Fitted on the RTX
// PRO 6000 Workstation sweep of one model (docs/models.md), elsewhere assumed; wrong when a board
// is limited by heat or by an external power brake.
#pragma once

#include "models/estimate.h"
#include "models/op.h"

namespace plateau {

struct StepCost;

struct ClockLaw {
  double max_mhz = 0;  // 0: unknown; caps and clocks are then refused
  double min_mhz = 0;
  double knee_mhz = 0;
  double voltage_rise = 0;  // (V(max) / V(knee))^2 - 1
  double static_w = 0;      // watts that no clock removes
  double base_share = 0;    // s of a kernel that uses no tensor core
  Source source = Source::assumed;

  bool known() const { return max_mhz > 0; }
};

// s of one call that takes `seconds` at the largest clock.
double clock_share(const ClockLaw& law, const OpCall& call, double seconds, double peak_flops);

// f V^2 relative to the largest clock.
double dynamic_factor(const ClockLaw& law, double mhz);

// The step at another clock; at max_mhz or above the argument itself. Uses StepCost::clock_seconds.
StepCost at_clock(const StepCost& step, const ClockLaw& law, double mhz);

// Largest clock at which the step's mean power is within `limit_w` (min_mhz when none is).
double clock_under_limit(const StepCost& step, const ClockLaw& law, double limit_w);

}  // namespace plateau
