// Simulated time: integer nanoseconds, so that sums are exact and events compare without tolerance.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace plateau {

using SimTime = std::chrono::duration<std::int64_t, std::nano>;

// Costs are doubles in seconds; they are rounded once, here, when an event is scheduled.
inline SimTime to_sim_time(double seconds) { return SimTime(std::llround(seconds * 1e9)); }
inline double to_seconds(SimTime time) { return static_cast<double>(time.count()) * 1e-9; }

}  // namespace plateau
