// Sanity bounds beside a run: simple arithmetic that no result may contradict, whatever the
// simulation did. A broken one is a warning in the report.
//
//   decode_roofline  mean decode step >= sum over its GEMMs, experts and attention of
//                    max(bytes / memory bandwidth, FLOP / tensor peak), at the mean step's shape
//   kv_used          KV tokens in use <= the pool
//   memory           weights + pool <= the GPU's memory
//   little_clients   sum of request latencies / wall time <= clients        (L = lambda W)
//   little_decode    sum of inter-token gaps / wall time <= requests running at most; not asked
//                    after retractions, whose gaps hold time in the queue
//   power            mean watts <= the cap, or the board's limit
// A what-if scale may break the first on purpose: no such hardware exists.
#pragma once

#include <vector>

#include "sim/report/report.h"

namespace plateau {

struct BoundsInput {
  int replicas = 1;
  std::vector<OpLine> decode_lines;  // of the mean decode step; empty: not asked
  DeviceSpec device;
  double power_cap_w = 0;    // 0: none
  int clients = 0;           // closed loop; 0: open loop
  double weights_bytes = 0;  // one GPU; 0: unknown
};

// Those that can be asked of this report.
std::vector<Bound> bounds_of(const Report& report, const BoundsInput& input);

}  // namespace plateau
