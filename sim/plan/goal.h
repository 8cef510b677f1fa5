// What a plan is to reach and what it must keep.
//
//   objective   tok_per_s | tok_per_s_per_gpu | tok_per_s_per_w | request_rate   (largest)
//               gpus | j_per_token | cost_per_million_tokens                     (smallest)
//   limit       KEY <= VALUE or KEY >= VALUE; a limit written `KEY=VALUE`, as the scenario's
//               `limits:` are, takes the direction that the key has by nature
//
//   ttft, tpot, itl, e2e, alone (p99) or with _mean, _p50, _p90, _p95, _p99      <= a time
//   gpu_power, node_power, rack_power       <= watts of the GPUs: one, at most 8 in a host, all
//   memory                                  <= weights and KV pool of one GPU
//   gpus, j_per_token, cost_per_million_tokens (output tokens)      <= a number
//   tok_per_s, tok_per_s_per_gpu, request_rate                      >= a number
//   queue_share                             <= mean queue over mean running batch
//
// An open loop is always held to queue_share <= kSustained: the rule for `sustains`. A load beyond
// the engine's capacity makes the queue grow without bound, one below it keeps the mean queue a
// small part of the batch; the line between is sharper the longer the run.
#pragma once

#include <string>
#include <vector>

#include "calibration/config_node.h"
#include "sim/report/report.h"

namespace plateau {

inline constexpr double kSustained = 0.1;

// Figures of a point, by index into metric_names(); NaN when the run cannot know it.
using Metrics = std::vector<double>;
const std::vector<std::string>& metric_names();
std::size_t metric_index(const std::string& name);
Metrics metrics_of(const Report& report, double memory_bytes_per_gpu, double request_rate);

struct PlanLimit {
  std::string text;  // "ttft_p99 <= 500 ms", as it was written
  std::string key;
  std::size_t metric = 0;
  bool at_least = false;
  double bound = 0;  // in the metric's unit

  // By how much it is broken, relative to the bound; 0 or less: kept.
  double excess(const Metrics& metrics) const;
};

struct PlanGoal {
  std::string objective = "tok_per_s";
  std::size_t metric = 0;
  bool largest = true;
  std::vector<PlanLimit> limits;

  double score(const Metrics& metrics) const;   // larger is better
  double excess(const Metrics& metrics) const;  // of the limit broken most; 0: all kept
};

struct GoalRequest {
  std::string maximise;
  std::string minimise;
  std::vector<std::string> limits;  // --limit
};

// `section` is the scenario's `limits:`, null when absent. Throws InputError: an unknown key, no
// unit, no limit at all in a section, and limits that contradict each other.
PlanGoal read_goal(const GoalRequest& request, const ConfigNode& section, bool open_loop);

}  // namespace plateau
