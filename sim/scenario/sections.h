// The sections of a scenario, one reader each; used by read_scenario.cpp only. A section that has
// nothing to check against the others reads itself whole.
#pragma once

#include "calibration/config_reader.h"
#include "sim/scenario/scenario.h"

namespace plateau {

inline constexpr int kMostClients = 1'000'000;
inline constexpr std::int64_t kMostRequests = 10'000'000;
inline constexpr std::int64_t kLongestRequest = 10'000'000;   // tokens
inline constexpr std::int64_t kLargestPool = 10'000'000'000;  // tokens
inline constexpr int kMostGpus = 100'000;

// `pool_only`: ScenarioOptions::pool_only.
void read_engine(ConfigReader engine, bool pool_only, EngineConfig* config,
                 std::vector<std::string>* warnings);
void read_workload(ConfigReader workload, WorkloadConfig* config);
void read_limits(ConfigReader limits, std::vector<LatencyLimit>* config);
CostConfig read_cost(ConfigReader cost);
// `router_groups` is the model's: it decides the default law's spread.
void read_routing(ConfigReader routing, int router_groups, RoutingConfig* config,
                  std::vector<std::string>* warnings);

// What-if scales (models/what_if.h); each that is not 1 becomes a warning.
void read_what_if(ConfigReader hypothetical, WhatIf* what_if, std::vector<std::string>* warnings);

}  // namespace plateau
