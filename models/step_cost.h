// Seconds and joules of one engine step, split into parts.
#pragma once

#include <array>
#include <vector>

#include "models/kernel_costs.h"
#include "models/step_ops.h"

namespace plateau {

struct PartCost {
  double seconds = 0;
  double joules = 0;  // one GPU
};

struct StepCost {
  std::array<PartCost, kParts> parts{};  // by Part; sums to seconds and joules
  double seconds = 0;
  double joules = 0;                           // one GPU
  std::array<double, kParts> clock_seconds{};  // of each part: seconds that scale with 1 / SM clock
  double busy_seconds = 0;  // a kernel is resident: what nvidia-smi calls utilisation
  double low_seconds = 0;   // band of the tables
  double high_seconds = 0;
  double low_joules = 0;  // band of the watts times `seconds`: the power tables', and launches that
                          // last longer or shorter
  double high_joules = 0;
  std::array<double, kSources> source_seconds{};  // seconds by Source; sums to seconds

  PartCost& operator[](Part part) { return parts[static_cast<std::size_t>(part)]; }
  const PartCost& operator[](Part part) const { return parts[static_cast<std::size_t>(part)]; }
};

// What launching adds to operations that take `ops` together: gaps between kernels or, eager, the
// time by which the CPU is late. `kernels` counts launches, `calls` operations of the step's list.
Estimate launch_time(const LaunchLaw& law, bool graph, const Estimate& ops, double calls,
                     double kernels, double layers);

// Every time of the step, and so its energy, times a factor; watts stay.
StepCost scaled(const StepCost& step, double factor);

// The same step drawing `watts` on average, its parts in proportion.
StepCost with_watts(const StepCost& step, const Estimate& watts);

struct OpLine {  // one row of `plateau step`
  OpCall call;
  OpCost each;
};

// Prices the list and adds launch gaps by the LaunchLaw. `lines`, if given, receives each
// operation's price.
StepCost step_cost(const std::vector<OpCall>& ops, const KernelCosts& costs, bool graph, int layers,
                   std::vector<OpLine>* lines = nullptr);

}  // namespace plateau
