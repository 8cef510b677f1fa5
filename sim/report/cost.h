// What a run's tokens cost, and what the machines draw beside their GPUs.
//
//   hosts      = ceil(gpus / gpus_per_host)
//   rack_w     = gpus x mean board power + hosts x host_power     (hosts draw the same at any load)
//   site_w     = rack_w x pue
//   per hour   = gpus x gpu_hour + site_w / 1000 x kwh
//   per million tokens = per hour / (tokens/s x 3600) x 1e6
// Rates are those of the whole run, ramp-up and drain included; `..._steady` uses the steady
// state's tokens and power. Wrong where gpu_hour is a rent that already holds the electricity:
// leave kwh out. Rack power leaves out switches and power supplies' losses unless host_power holds
// them.
#pragma once

#include "sim/report/report.h"
#include "sim/scenario/scenario.h"

namespace plateau {

// Reads throughput, steady state, power and goodput of the report.
CostReport cost_of(const CostConfig& prices, const Report& report);

}  // namespace plateau
