// Reports as one HTML file each: style, script and numbers inside, nothing loaded from anywhere,
// light and dark, on a phone and on paper.
//
//   report_html   a run: plateau, timeline, splits, experts, latencies, provenance; and a slider
//                 over the batch that reads precomputed decode steps
//   sweep_html    rows of a sweep as a Pareto explorer
//
// Numbers stand once, as JSON (schema plateau-page/1) in the element #data; the script draws them.
// The report inside it is report_json's, unrounded; what only charts need has six digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/load_statistics.h"
#include "sim/report/latency_histograms.h"
#include "sim/report/report.h"

namespace plateau {

// One decode step of `running` requests.
struct BatchPoint {
  double running = 0;
  double seconds = 0;
  double joules = 0;  // one GPU
  PartValues part_seconds{};
  PartValues part_joules{};      // one GPU
  double beyond_tables = 0;      // share of its time that is extrapolated, roofline or assumed
  double active_experts = 0;     // means over layers; dense model: 0
  double tokens_per_expert = 0;  // over all experts
  double tokens_per_expert_p99 = 0;
  double max_over_mean = 1;
  bool graph = false;
};

// The same steps under one routing law.
struct RoutedCurve {
  std::string name;  // "even"
  std::string law;   // "uniform"
  std::vector<BatchPoint> points;
};

struct PageData {
  double context_tokens = 0;      // of each request in these steps
  std::int64_t most_running = 0;  // how many the engine lets run, whatever the load
  std::string most_running_why;   // "KV pool" | "running cap"
  int experts = 0;
  int top_k = 0;
  std::vector<RoutedCurve> curves;  // the scenario's own law first
  double heat_tokens = 0;           // tokens in the step whose experts are shown
  std::vector<ExpertCounts> heat;   // tokens of each expert, by MoE layer; empty: dense
  const LatencyHistograms* latencies = nullptr;
};

std::string report_html(const Report& report, const PageData& data);

// Cells as text; "" is missing. Columns are varied keys, figures (numbers) or words.
struct SweepColumn {
  enum class Kind : std::uint8_t { varied, figure, word };
  std::string name;  // "workload.concurrency", "output_tok_per_s"
  Kind kind = Kind::figure;
};
struct SweepPage {
  std::string title;     // file of the scenario
  std::string question;  // of the scenario
  std::vector<SweepColumn> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column
  std::int64_t infeasible = 0;                 // points that are no rows here
  std::vector<std::string> notes;
};
std::string sweep_html(const SweepPage& page);

}  // namespace plateau
