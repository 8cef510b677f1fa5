// What a run says in the end: every number of the report contract (schema plateau-report/1), with
// its unit in its name, and the forms it is written in.
//
// A value that a run cannot know is missing (std::nullopt, JSON null), never 0. Shares of time and
// of sources sum to 1. `one GPU` and `all GPUs` are said where it matters: watts with the prefix
// gpu_ are one board's, joules are all GPUs' (host CPUs, fans and power supplies are in neither).
// What is not modelled: boards differ from one another by up to 15 % in power at equal work, so the
// entries of gpu_w_each are equal.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/profile.h"
#include "models/step_cost.h"

namespace plateau {

using PartValues = std::array<double, kParts>;      // by Part
using SourceShares = std::array<double, kSources>;  // by Source

// What was simulated, in words for the headline. Filled by the caller.
struct Subject {
  std::string file;      // scenario
  std::string question;  // its first comment line
  std::string model;
  std::string device;
  int gpus = 1;
  std::string engine;    // "sglang 2026-02, tp 8"
  std::string workload;  // "2,048 clients, 6,144 requests of 128 in / 128 out"
  std::string load;      // subject of the headline: "2,048 clients", "12 requests/s"
};

struct ThroughputReport {  // whole run: first send to last token
  double output_tok_per_s = 0;
  double total_tok_per_s = 0;  // prompt and output tokens of finished requests
  double requests_per_s = 0;
  double seconds = 0;
  std::int64_t output_tokens = 0;
  std::int64_t input_tokens = 0;
  std::int64_t requests = 0;
  double concurrency = 0;  // sum of latencies / seconds, as bench_serving means it
};

struct SteadyStateReport {  // missing when the run holds no such window; `rule` then says why
  std::optional<double> output_tok_per_s;
  std::optional<double> total_tok_per_s;
  std::optional<double> requests_per_s;
  std::optional<double> running_mean;
  std::optional<double> gpu_w_mean;
  std::optional<double> start_s;  // since the first send
  std::optional<double> end_s;
  std::string rule;
};

struct RunningReport {
  double mean = 0;  // over decode steps
  std::int64_t peak = 0;
  std::int64_t first_wave = 0;  // at the first decode step
};

struct QueueReport {
  double mean = 0;  // over time
  std::int64_t peak = 0;
};

struct RetractionReport {
  std::int64_t count = 0;  // requests put back, each time counted
  std::int64_t recomputed_tokens = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct KvReport {  // all but the peak is filled by the caller
  std::int64_t capacity_tokens = 0;
  double bytes_per_token_per_gpu = 0;
  int page_tokens = 1;
  std::int64_t peak_used_tokens = 0;
  std::string source;                         // "given" | "log" | "derived"
  std::optional<std::int64_t> wall_requests;  // how many requests the pool admits
  // What the memory rule derives: with logged weights where the scenario has them, and with the
  // spec's.
  std::optional<std::int64_t> derived_tokens;
  std::optional<std::int64_t> derived_tokens_spec_weights;
  std::optional<double> unexplained_bytes;  // one GPU: derived pool minus the given or logged one
  // One GPU: memory the engine holds beside its rule's terms, taken off what the rule derives.
  std::optional<double> told_unexplained_bytes;
  std::string told_unexplained_source;  // "given" in the scenario | "calibrated": the profile's
  std::optional<Interval> told_unexplained_range;  // bytes, p5 and p95 of the calibrated one
  std::optional<Interval> derived_tokens_range;    // what that range does to the derived pool
};

// Mean and quantiles of a set of samples; missing when there were none.
struct Spread {
  std::int64_t count = 0;
  std::optional<double> mean;
  std::optional<double> p50;  // upper median
  std::optional<double> p90;
  std::optional<double> p99;
  std::optional<double> p95;  // for limits; not in the JSON
};

struct LatencyReport {  // milliseconds
  Spread ttft;          // per request: sent to first token
  Spread tpot;          // per request with 2 or more tokens: (last - first token) / (tokens - 1)
  Spread itl;           // per token: gap to the same request's previous token
  Spread e2e;           // per request: sent to last token
};

struct StepStatistics {
  Spread decode_ms;  // the GPU's time; host gaps are outside. Mixed steps count as decode
  Spread prefill_ms;
  std::int64_t decode_count = 0;
  std::int64_t prefill_count = 0;
  std::int64_t mixed_count = 0;  // of decode_count: steps that also prefilled
  double decode_time_share = 0;  // of wall time, the host gaps before these steps included
  double prefill_time_share = 0;
  double graph_share = 0;  // of decode steps: replayed from a captured graph
};

struct ExpertsReport {  // at the mean decode batch; filled by ReportContext::experts
  double tokens_per_expert_mean = 0;
  double p50 = 0;
  double p99 = 0;
  double active_mean = 0;
  double max_over_mean = 1;
  double rank_max_over_mean = 1;
  int experts = 0;
  std::string law;
};

struct PowerReport {
  double gpu_w_mean = 0;
  std::optional<double> gpu_w_p95_meter;  // of a 1 s trailing average read every 100 ms
  std::optional<double> gpu_w_max_meter;
  std::vector<double> gpu_w_each;
  double utilization_pct = 0;  // share of time with any kernel resident, spinning included
  std::optional<double> tdp_fraction;
  std::optional<double> band;  // relative: how far the interval of gpu_w_mean reaches
  double node_w = 0;           // all GPUs
};

struct EnergyReport {  // all GPUs
  std::optional<double> j_per_output_token;
  double j_total = 0;
  PartValues split{};  // joules; sums to j_total
};

// What throughput responds to: elasticity = d ln(tok/s) / d ln(limit), so 0.59 means that 1 % more
// of it gives 0.59 % more tokens.
struct Limit {
  std::string constraint;
  double elasticity = 0;
};

// The run again with one limit relaxed (sim/ladder/ladder.h): `sets` are the scenario keys that
// were changed, so that `plateau run S --set ...` repeats it. Missing figures: `not_run` says why.
struct LadderRung {
  std::string constraint;
  std::optional<double> tok_per_s_if_relaxed{};  // whole run
  // tok/s per unit: output_tok_per_s with marginal_sets less that with marginal_from, over
  // marginal_amount. Missing for a limit that is a switch and not a size.
  std::optional<double> marginal{};
  std::string change{};  // in words
  std::vector<std::string> sets{};
  bool hypothetical = false;     // some of `sets` describe no hardware or engine that was measured
  bool price = false;            // asked for its cost or worth; no limit of its own
  std::optional<double> gain{};  // tok/s over the run's own
  std::optional<double> steady_tok_per_s_if_relaxed{};
  std::optional<double> tpot_ms_if_relaxed{};
  std::optional<double> gpu_w_mean_if_relaxed{};
  std::string binds_next{};  // BindingReport::constraint of that run
  std::string unit{};        // "GiB of KV per GPU"
  double marginal_amount = 0;
  std::vector<std::string> marginal_from{};  // empty: the scenario as it is
  std::vector<std::string> marginal_sets{};
  std::optional<double> marginal_steady{};  // the same of the steady state
  std::vector<std::string> breaks{};  // bounds that run breaks: more than the hardware can hold
  std::string not_run{};
};

// Limits relaxed one after the other, each time the one that gives most; `sets` accumulate.
struct LadderStep {
  std::string constraint;
  std::string change;
  std::vector<std::string> sets;
  double output_tok_per_s = 0;
  double gpu_w_mean = 0;
  std::string binds_next;
};

// What no run may break (sim/report/bounds.h).
struct Bound {
  std::string name;
  double value = 0;  // of the run
  double limit = 0;  // value <= limit
  bool holds = true;
  std::string rule;
};

struct BindingReport {  // the rule: sim/report/binding.h
  std::string constraint;
  std::string why;
  std::string concurrency;  // what keeps more from running: load, kv_pool, ...
  std::string concurrency_why;
  std::string step;                // what takes the largest share of time
  std::vector<Limit> limits;       // strongest first
  std::vector<LadderRung> ladder;  // filled by whoever re-simulates, strongest first
  std::vector<LadderStep> climb;   // likewise
};

struct IntervalReport {  // band of the tables, fully correlated, as the p5 and p95 of the run
  std::optional<Interval> output_tok_per_s;
  std::optional<Interval> gpu_w_mean;
};

struct ProvenanceReport {
  SourceShares shares{};  // of priced time (GPU and host gaps), by Source; filled by the builder
  std::string profile;
  std::string profile_source;
  std::string licence;
  std::string date;
  std::string engine;
  std::string driver;
  std::vector<TableInfo> tables;
  std::uint64_t seed = 0;
  std::string version;
};

// Throughput of pure decode at a batch size, from step costs: running / step seconds.
struct CurvePoint {
  double running = 0;
  double tok_per_s = 0;
};

// Means over equal slices of the run, for charts. Bounded in number.
struct SeriesPoint {
  double start_s = 0;
  double seconds = 0;
  double running = 0;
  double queued = 0;
  double kv_used_tokens = 0;
  double gpu_w = 0;
  double output_tok_per_s = 0;
};

// Latency limits of the scenario, judged; the rule: sim/report/goodput.h.
struct LimitResult {
  std::string name;  // "ttft_p99"
  double limit_ms = 0;
  std::optional<double> measured_ms;  // of what the name says; missing without samples
  bool met = false;
  std::optional<double> share_within;  // of requests; itl: of gaps between tokens
};

struct GoodputReport {
  bool met = false;  // every limit; false while the queue grows, whatever the figures
  std::int64_t requests = 0;
  double requests_share = 0;
  double requests_per_s = 0;
  double output_tok_per_s = 0;
  std::vector<LimitResult> limits;
};

// Requests of an open loop, second half of the arrivals: does the queue grow? The rule:
// sim/report/saturation.h.
struct SaturationReport {
  enum class Verdict : std::uint8_t { stable, rising, saturated, unknown };
  Verdict verdict = Verdict::unknown;
  double arrivals_per_s = 0;
  double completions_per_s = 0;
  std::optional<double> growth_per_s;      // of the backlog
  std::optional<double> growth_per_s_low;  // 95 % band
  std::optional<double> growth_per_s_high;
  double backlog_middle = 0;  // sent and not finished
  double backlog_end = 0;
  std::optional<double> waiting_first;  // in the queue, mean of the half's first and last quarter
  std::optional<double> waiting_last;

  bool grows() const { return verdict == Verdict::rising || verdict == Verdict::saturated; }
};

const char* name_of(SaturationReport::Verdict verdict);

struct CostReport {  // sim/report/cost.h
  std::string currency;
  int hosts = 0;
  std::optional<double> rack_w;  // missing without host_power
  std::optional<double> site_w;  // missing without pue as well
  std::optional<double> gpus_per_hour;
  std::optional<double> energy_per_hour;
  std::optional<double> per_hour;  // what is priced of the two
  std::optional<double> per_million_output_tokens;
  std::optional<double> per_million_total_tokens;
  std::optional<double> per_million_good_output_tokens;  // that keep the limits
  std::optional<double> per_million_output_tokens_steady;
};

// One of several replicas, over the whole run's time.
struct ReplicaReport {
  std::int64_t requests = 0;
  double output_tok_per_s = 0;
  double running_mean = 0;
  std::int64_t running_peak = 0;
  double queue_mean = 0;
  std::int64_t queue_peak = 0;
  std::int64_t kv_peak_used_tokens = 0;
  std::optional<double> ttft_ms_p99;
  double gpu_w_mean = 0;
  double utilization_pct = 0;
};

struct Report {
  Subject subject;
  ThroughputReport throughput;
  SteadyStateReport steady_state;
  RunningReport running;
  QueueReport queue;
  RetractionReport retractions;
  KvReport kv;
  LatencyReport latency_ms;
  std::optional<SaturationReport> saturation;  // open loop
  std::optional<GoodputReport> goodput;        // with limits
  StepStatistics step;
  PartValues time_split{};          // of wall time; sums to 1
  PartValues time_split_decode{};   // of the time of decode steps and the host gaps before them;
                                    // sums to 1 or all 0
  PartValues time_split_prefill{};  // likewise
  std::optional<ExpertsReport> experts;
  PowerReport power;
  EnergyReport energy;
  std::optional<CostReport> cost;  // with prices or host power
  BindingReport binding;
  IntervalReport interval;
  ProvenanceReport provenance;
  std::vector<ReplicaReport> replicas;   // empty when there is one
  std::vector<CurvePoint> decode_curve;  // of one replica
  std::vector<SeriesPoint> series;
  std::vector<Bound> bounds;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> definitions;
};

// One engine step by operation (`plateau step`).
struct StepReport {
  Subject subject;
  StepShape shape;
  StepCost cost;
  std::vector<OpLine> lines;
  ProvenanceReport provenance;
  std::vector<std::string> warnings;
};

struct TextOptions {
  int columns = 80;     // 60 or more
  bool colour = false;  // ANSI escapes for the headline and the warnings
  bool ascii = false;   // bars and charts without block characters
};

// JSON: schema plateau-report/1 and plateau-step/1, stable key order, shortest digits that read
// back equal.
std::string report_json(const Report& report);
std::string step_json(const StepReport& report);

// The run in one sentence, as its pages begin.
std::string headline(const Report& report);

// Text: no line wider than `columns` characters, no trailing blanks.
std::string report_text(const Report& report, const TextOptions& options = {});
std::string step_text(const StepReport& report, const TextOptions& options = {});

}  // namespace plateau
