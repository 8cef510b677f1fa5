// How far a figure may stray: p5 to p95 over repetitions of a run with other experts and other
// table errors.
//
// Repetition r routes with the seed that belongs to r and prices with NoisyCosts replica r. The
// requests stay what they are: their lengths and arrivals are the load one asked about, not noise.
// Not in it: what the model leaves out, other boards of the same kind, and errors of a table beyond
// the band it states. With N repetitions the ends of the band are themselves uncertain: at N = 20
// p5 is the lowest of 20.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/deployment/deployment.h"
#include "sim/report/report.h"

namespace plateau {

// The seed of repetition r >= 1; 0 is the run itself.
std::uint64_t repetition_seed(std::uint64_t seed, int repetition);
// The scenario's routing in repetition r.
ExpertRouting repetition_routing(const Scenario& scenario, int repetition);

// Repetitions 1..n of the scenario. Throws InputError as Deployment does.
std::vector<Report> repeat_runs(const Scenario& scenario, std::shared_ptr<const Profile> profile,
                                int n);

// p5 and p95 of a sample, linearly between order statistics; nothing when it is empty.
std::optional<Interval> interval_of(std::vector<double> sample);

// For Report::interval.
IntervalReport intervals(const Scenario& scenario, std::shared_ptr<const Profile> profile, int n);

}  // namespace plateau
