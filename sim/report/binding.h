// Which constraint binds: what, if relaxed, would raise throughput the most. Judged from one run,
// by its time shares and its queue; nothing is simulated again (BindingReport::ladder is for those
// who do).
//
// The rule compares elasticities, e = d ln(tok/s) / d ln(limit), and names the largest.
//
//   step limit   e = its share of wall time: a part of share s made 1 % faster saves s % of it
//
//   concurrency  e = d ln X / d ln N of the pure-decode curve at the mean running batch, times
//                the share of time spent decoding (prefill work grows with the tokens)
//
//   open loop    while nothing waits, throughput is the load whatever the engine does:
//                e(load) = share of decode time without a queue; it scales every other e down
//
// What limits concurrency, judged at decode steps with a queue: what waits there has been refused.
//
//   load          such steps are less than half of decode time
//
//   running_cap   running reaches max_running_requests and averages 97 % of it over those steps
//
//   kv_pool       running averages 90 % of what the pool admits, KV use peaks at 90 % of it, or
//                 requests were retracted
//
//   token_budget  half of the prefill steps fill 95 % of the prefill budget
//
//   admission     none of these: the engine's rule refuses what would fit
//
// Step limits by name:
//
//   all_reduce, all_to_all  the collectives, spinning included
//
//   host              gaps between steps; launches one by one where a graph would have fitted
//
//   captured_batch    launches one by one because the batch exceeds the largest captured one
//
//   kernel_floor      gaps inside graphs, element-wise passes, kernels below half of both roofs
//
//   weight_streaming  GEMMs and experts above half of the memory roof and nearer to it
//
//   kv_streaming      attention likewise
//
//   compute           kernels above half of the arithmetic roof and nearer to it
//
//   power_cap         kernel_floor and compute (what a clock changes) in steps at 98 % of the cap
//
// Without priced operations GEMMs and experts of decode count as weight_streaming, those of prefill
// as compute, attention as kv_streaming.
//
// Wrong when parts overlap in time (the shares here are serial), when a limit is a step and not a
// slope (one GPU fewer, one captured size more), or when the run never reaches its plateau.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace plateau {

enum class Roof : std::uint8_t { kernel_floor, weight_streaming, kv_streaming, compute };
inline constexpr int kRoofs = 4;
using RoofShares = std::array<double, kRoofs>;

// For each part the shares of its time that each roof bounds; all 0 for parts without kernels of
// their own. `lines` empty: the defaults above.
std::array<RoofShares, kParts> roofs_of(const std::vector<OpLine>& lines, const DeviceSpec& device,
                                        bool decode);

struct QueueState {                // at decode steps; shares of decode time
  double queued_share = 0;         // with requests waiting
  double running_when_queued = 0;  // mean over that time
  double waiting_when_queued = 0;
  double prefill_full_share = 0;  // of prefill steps: the token budget was filled
};

struct BindingInput {
  int clients = 0;  // closed loop; 0: open loop
  QueueState queue;
  double running_mean = 0;  // of the steady state, else of the run
  std::int64_t running_peak = 0;
  std::int64_t max_running_requests = 0;    // 0: none
  std::int64_t largest_captured_batch = 0;  // 0: no graphs
  std::int64_t prefill_token_budget = 0;
  KvReport kv;
  RetractionReport retractions;
  PartValues time_split{};
  double decode_time_share = 0;
  double graph_share = 0;   // of decode steps
  RoofShares roofs{};       // shares of wall time
  double capped_share = 0;  // of wall time: steps at the power cap
  std::vector<CurvePoint> decode_curve;
};

BindingReport binding_of(const BindingInput& input);

// d ln X / d ln N of the curve at `running`: the arc elasticity of the segment around it, (dX /
// mean X) / (dN / mean N), which needs no logarithm and so has the same bits everywhere; the end
// segments reach beyond the curve. Missing with fewer than two usable points.
std::optional<double> elasticity_at(const std::vector<CurvePoint>& curve, double running);

}  // namespace plateau
