// `measured:` of a scenario: what a run of it measured, for `plateau validate`.
//
//   measured:
//     source: who measured, where it stands            required
//     date: 2026-03
//     note: one sentence on what a large error is made of
//     output_tok_per_s: 2095                           figures of the scenario as it stands
//     points:                                          figures of the scenario with other values
//       - {set: {workload.concurrency: 3072}, output_tok_per_s: 2062}
//       - {batch: 64, ctx_tokens: 1024, step_ms: 22.9}             one decode step, no run
//       - {batch: 4, kernel: moe_experts, kernel_us: 73.18}        one operation of that step
//
// A name with a unit takes a bare number, a latency its unit (`ttft_p50: 178 ms`). What a figure is
// compared with is in sim/validate/measured_block.cpp. A figure that was not measured is left out;
// 0 is refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/config_reader.h"
#include "sim/scenario/scenario.h"

namespace plateau {

// What must be computed before a figure can be compared.
enum class MeasuredKind : std::uint8_t {
  run,   // the whole run
  step,  // one decode step: the point has a `batch`
  both,  // either, by whether the point has a `batch`
  pool   // memory alone: neither a scheduler nor kernels
};

struct MeasuredMetric {
  const char* name;
  MeasuredKind kind;
  bool latency;    // a quantity with a unit of time, kept in milliseconds
  double largest;  // a value above is impossible
};
const std::vector<MeasuredMetric>& measured_metrics();

struct MeasuredFigure {
  std::string metric;
  double value = 0;
};

struct MeasuredPoint {
  ConfigNode set;  // dotted keys over the scenario; null: the scenario as it stands
  std::optional<double> batch;
  double ctx_tokens = 1;
  std::string kernel;  // an operation, as `plateau step` names it
  std::vector<MeasuredFigure> figures;
  KeyPlace place;
};

struct MeasuredRun {
  std::string source;
  std::string date;
  std::string note;
  std::vector<MeasuredPoint> points;

  bool pool_only() const;  // no figure needs more than the size of the pool
};

// Reads and checks the block; `set` keys must be a scenario's. Problems go to the reader's
// document.
MeasuredRun read_measured(ConfigReader measured);

// The block of a scenario's tree. Throws InputError for mistakes in it, and when there is none.
MeasuredRun measured_of(const ConfigNode& root, const std::string& file);

}  // namespace plateau
