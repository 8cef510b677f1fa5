// A scenario, typed and complete: what `plateau run` simulates. Read by
// sim/scenario/read_scenario.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/config_node.h"
#include "calibration/profile.h"
#include "models/kernel_costs.h"
#include "models/model_spec.h"
#include "models/what_if.h"
#include "sim/serving/balancer.h"

namespace plateau {

struct HardwareConfig {
  std::string device;  // as in `plateau list`
  int count = 1;
  Interconnect interconnect = Interconnect::nvlink;
  std::optional<double> power_limit_w;
  std::optional<double> sm_clock_mhz;
};

// Lengths of prompts or outputs, in tokens.
//   fixed               always `tokens`
//   sglang_uniform      uniform integers in [max(int(tokens*ratio),1), tokens]
//   (sglang.bench_serving) vllm_uniform        uniform integers in [floor(tokens*(1-ratio)),
//   ceil(tokens*(1+ratio))]  (vllm bench serve) jitter              uniform integers in
//   [tokens*(1-ratio), tokens*(1+ratio)] (H200 measured engine)
struct LengthConfig {
  enum class Law : std::uint8_t { fixed, sglang_uniform, vllm_uniform, jitter };
  Law law = Law::fixed;
  int tokens = 0;
  double ratio = 0;
};

struct WorkloadConfig {
  enum class Client : std::uint8_t { closed_loop, poisson, gamma, trace };
  Client client = Client::closed_loop;
  int concurrency = 1;                 // closed loop: clients
  std::optional<double> request_rate;  // open loop, requests/s
  double burstiness = 1;               // gamma shape
  std::string trace;                   // file, seen from the working directory
  double rate_scale = 1;               // trace: arrival times are divided by it
  bool drop_oversized = false;     // trace: requests that can never run are left out, not refused
  std::int64_t requests = 1;       // total; of a trace its first ones, when given
  bool requests_given = true;      // a trace may leave it out
  double requests_per_client = 0;  // > 0: requests was given as "N per client"
  LengthConfig input;
  LengthConfig output;
  bool ignore_eos = true;
};

struct EngineConfig {
  enum class Kind : std::uint8_t { sglang, simple, vllm };  // vllm: only its pool
  Kind kind = Kind::sglang;
  std::string
      version;  // sglang: "2026-02" (SG-A) or "2026-07" (SG-B), or a release such as "0.5.8"
  std::optional<std::int64_t> kv_pool_tokens;
  std::string kv_source;  // "given" or "log" when kv_pool_tokens is set, else "derived"
  std::string kv_cache_dtype = "auto";
  double mem_fraction_static = 0;         // 0: the engine's default rule
  std::optional<double> free_memory_gib;  // free before weights load, min over ranks
  std::optional<double> weights_gib;      // logged; else from the spec
  // What the engine holds beside what its rule knows; nothing: the profile's, else 0.
  std::optional<double> unexplained_gib;
  // Logged as left for, or taken by, the KV cache: replaces the rule that derives it.
  std::optional<double> kv_pool_gib;
  double gpu_memory_utilization = 0;  // vllm; 0: default
  bool draft_layers = false;          // vllm: the model's MTP layers hold a KV cache too
  int page_size = 0;                  // 0: the engine's default for this model
  int chunked_prefill_size = 0;       // 0: default for this GPU; -1: off
  int max_prefill_tokens = 16384;
  int max_running_requests = 0;    // 0: default
  int cuda_graph_max_bs = 0;       // 0: default
  std::vector<int> cuda_graph_bs;  // explicit capture list
  bool disable_cuda_graph = false;
  bool disable_cuda_graph_padding = false;
  bool disable_radix_cache = false;
  bool disable_overlap_schedule = false;
  bool enable_mixed_chunk = false;
  double schedule_conservativeness = 1.0;
  std::string schedule_policy = "fcfs";
  int num_continuous_decode_steps = 1;
  bool hypothetical_continuous_decode = false;  // hypothetical.continuous_decode_steps
};

struct RoutingConfig {
  enum class Law : std::uint8_t {
    uniform,
    two_level_lognormal,
    zipf,
    zipf_gumbel,
    power_law,
    replay
  };
  Law law = Law::uniform;
  double alpha = 0;        // zipf, zipf_gumbel, power_law
  double sigma_group = 0;  // two_level_lognormal
  double sigma_expert = 0;
  int groups = 1;
  bool assumed = false;  // the scenario names no law: the default of sim/scenario/read_routing.cpp
  std::string counts;    // replay: CSV of counts, seen from the working directory
  std::string trace;     // replay: which trace of the file
  bool exact = false;
  int sample_layers = 0;  // 0: default
};

struct CalibrationConfig {
  std::string profile;
  std::string board;
  std::string attention;   // "table" | "kv_bandwidth"
  std::string power;       // "profile" | "limit"
  std::string power_runs;  // CSV of measured runs of this configuration; "": watts of the profile
};

// Where a scenario's value was written.
struct KeyPlace {
  std::string file;
  int line = 0;
  int column = 0;
};

// `limits: {ttft_p99: 2 s}`: what latencies an answer may have (sim/report/goodput.h says how it is
// judged).
struct LatencyLimit {
  enum class Metric : std::uint8_t { ttft, tpot, itl, e2e };
  std::string name;  // the key: "ttft_p99"; "ttft" is its p99 too
  Metric metric = Metric::ttft;
  std::optional<int> permille = 990;  // nothing: the mean
  double ms = 0;
};

// `cost:`. Prices are in one currency; a price that is not given is not charged.
struct CostConfig {
  std::string currency;                // "USD"; empty: no price is given
  std::optional<double> gpu_hour;      // of one GPU
  std::optional<double> kwh;           // at the site's meter
  std::optional<double> host_power_w;  // of one host beside its GPUs: CPUs, fans, network
  int gpus_per_host = 8;
  std::optional<double> pue;  // site power / power of hosts and GPUs
};

struct Scenario {
  std::string file;
  std::string question;  // first comment line
  ModelSpec model;
  HardwareConfig hardware;
  Parallelism parallel;
  BalancerLaw balancer = BalancerLaw::round_robin;  // before parallel.replicas engines
  EngineConfig engine;
  WorkloadConfig workload;
  RoutingConfig routing;
  CalibrationConfig calibration;
  double rank_delay_s = 0;  // hypothetical.rank_delay: in every step the others wait for one rank
  WhatIf hypothetical;      // all 1 unless the scenario asks what something is worth
  std::uint64_t seed = 1;
  std::vector<std::string> warnings;  // e.g. flags the engine ignores
  std::vector<LatencyLimit> latency_limits;
  std::optional<CostConfig> prices;
  // Kept as they stand for those who read them later; null when absent.
  ConfigNode measured;
  ConfigNode limits;
  ConfigNode cost;
  std::map<std::string, KeyPlace> places;  // "engine.kv_pool_tokens" -> its value's
};

}  // namespace plateau
