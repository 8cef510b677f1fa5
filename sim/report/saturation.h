// Whether an open loop sent more than the engine could do. Then its queue grows for as long as it
// sends, and the latencies measure the length of the run instead of the engine.
//
// Rule, over the second half of the arrivals (the first half is ramp-up), cut into 16 equal parts:
//   growth  D = requests sent - requests finished in that half; its standard error is
//           s = sqrt(16) x the deviation of the parts' own growths. The backlog grows when
//           D > t s, t = 2.13 (97.5 % one-sided, 15 degrees of freedom), and D >= 1.
//   saturated  the backlog grows, and at least a quarter of its growth waits in the engine's queue:
//              mean of the last four parts over mean of the first four
//   rising     the backlog grows, but what grows is the number of running requests: the load is
//              still ramping up, or arrives faster and faster; the run is too short to say more
//   stable     no growth beyond chance
//   unknown    fewer than 20 arrivals in that half, or it is too short to be cut
// Arrivals that fluctuate more make s larger, whatever their law. A queue that only drifts
// (utilisation 1) is called saturated in one run of 40; overload of a share x is noticed from about
// 3 / sqrt(arrivals in that half) on, 10 % at 1,000. With replicas one overloaded replica does not
// show before the sum grows.
//
// Memory is bounded: counts live in at most kSlices slices of time, which double in width when they
// would not suffice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/sim_time.h"
#include "sim/report/report.h"

namespace plateau {

class Backlog {
 public:
  static constexpr std::size_t kSlices = 4096;  // even

  void add_request(SimTime sent, SimTime finished);
  // `waiting` requests were in the queue during the `length` that ended at `end`.
  void add_waiting(SimTime end, SimTime length, double waiting);
  SaturationReport report() const;

 private:
  struct Slice {
    std::int64_t sent = 0;
    std::int64_t finished = 0;
    double waiting = 0;  // request-seconds

    double growth() const { return static_cast<double>(sent - finished); }
    void add(const Slice& other) {
      sent += other.sent;
      finished += other.finished;
      waiting += other.waiting;
    }
  };
  static constexpr std::size_t kCuts = 16;  // parts of the second half
  static double standard_error(const std::array<Slice, kCuts>& parts, double mean);
  static double waiting_of(const std::array<Slice, kCuts>& parts, std::size_t from, std::size_t to);
  Slice& slice_at(SimTime time);

  SimTime width_ = std::chrono::milliseconds(1);
  SimTime last_sent_{};
  std::vector<Slice> slices_;
};

}  // namespace plateau
