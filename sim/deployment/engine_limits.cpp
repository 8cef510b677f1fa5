#include "sim/deployment/engine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/cuda_graphs.h"
#include "models/engine_defaults.h"
#include "models/memory.h"
#include "sim/engine/closed_loop.h"
#include "sim/scenario/sglang_version.h"

namespace plateau {

namespace {

// Captured batch sizes of the measured H200 engine (calibration/collect/README.md).
const std::vector<int> kSimpleGraphSizes = {1,   2,   4,   8,   16,  24,  32,  48,  64,  96,  128,
                                            160, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024};

SglangMemoryOptions memory_options(const Scenario& scenario, const DeviceSpec& device) {
  const EngineConfig& engine = scenario.engine;
  SglangMemoryOptions options;
  options.era = era_of(engine.version);
  options.memory_mib = device.memory_bytes / kMiB;
  options.chunked_prefill_size = engine.chunked_prefill_size;
  options.max_prefill_tokens = engine.max_prefill_tokens;
  options.cuda_graph_max_bs = engine.cuda_graph_max_bs;
  options.disable_cuda_graph = engine.disable_cuda_graph;
  return options;
}

[[noreturn]] void refuse(const Scenario& scenario, std::string key, std::string message,
                         std::string hint) {
  throw InputError(
      Problem{scenario.file, 0, 0, std::move(key), std::move(message), std::move(hint)});
}

KvLayout layout_of(const Scenario& scenario) {
  return scenario.engine.kv_cache_dtype == "fp8_ds_mla" ? KvLayout::ds_mla : KvLayout::plain;
}

SglangPoolInput pool_input(const Scenario& scenario, const DeviceSpec& device, DType kv_dtype) {
  SglangPoolInput input;
  input.options = memory_options(scenario, device);
  input.parallel = scenario.parallel;
  input.kv_dtype = kv_dtype;
  input.mem_fraction_static = scenario.engine.mem_fraction_static;
  input.free_gib = scenario.engine.free_memory_gib;
  input.weights_gib = scenario.engine.weights_gib;
  input.unexplained_gib = scenario.engine.unexplained_gib.value_or(0);
  input.kv_gib = scenario.engine.kv_pool_gib;
  input.layout = layout_of(scenario);
  input.page_tokens = scenario.engine.page_size;
  input.given_tokens = scenario.engine.kv_pool_tokens;
  return input;
}

KvPool vllm_pool(const Scenario& scenario, const DeviceSpec& device, DType kv_dtype) {
  const EngineConfig& engine = scenario.engine;
  VllmPoolInput input;
  input.parallel = scenario.parallel;
  input.kv_dtype = kv_dtype;
  input.layout = layout_of(scenario);
  input.memory_gib = device.memory_bytes / kGiB;
  input.gpu_memory_utilization = engine.gpu_memory_utilization;
  input.weights_gib = engine.weights_gib;
  input.unexplained_gib = engine.unexplained_gib.value_or(0);
  input.kv_gib = engine.kv_pool_gib;
  input.block_tokens = engine.page_size;
  input.draft_layers = engine.draft_layers ? scenario.model.mtp_layers : 0;
  input.given_tokens = engine.kv_pool_tokens;
  return vllm_kv_pool(scenario.model, input);
}

KvPool size_pool(const Scenario& scenario, const DeviceSpec& device, DType kv_dtype) {
  const KvPool pool = scenario.engine.kind == EngineConfig::Kind::vllm
                          ? vllm_pool(scenario, device, kv_dtype)
                          : sglang_kv_pool(scenario.model, pool_input(scenario, device, kv_dtype));
  if (pool.tokens <= 0) {
    const Misfit misfit = pool.misfit.value_or(Misfit{});
    refuse(scenario, "model",
           fmt::format("{} does not fit on {} x {} at tp {}: {:.1f} GiB of weights per GPU leave "
                       "no room for KV, {:.1f} "
                       "GiB are missing",
                       scenario.model.name, scenario.hardware.count, device.name,
                       scenario.parallel.tp, pool.weights_gib, misfit.missing_gib),
           misfit.fits_at_tp > 0 ? fmt::format("it fits at tp {}", misfit.fits_at_tp)
                                 : "no tensor parallelism up to 64 times this fits");
  }
  return pool;
}

// The largest batch the run can reach: the measured engine captures it too.
int largest_batch(const Scenario& scenario, std::int64_t max_running) {
  const std::int64_t clients = scenario.workload.client == WorkloadConfig::Client::closed_loop
                                   ? scenario.workload.concurrency
                                   : max_running;
  return static_cast<int>(std::min({clients, max_running, std::int64_t{kSimpleGraphSizes.back()}}));
}

std::vector<int> simple_graphs(const Scenario& scenario, std::int64_t max_running) {
  const EngineConfig& engine = scenario.engine;
  if (engine.disable_cuda_graph) return {};
  std::vector<int> sizes = engine.cuda_graph_bs.empty() ? kSimpleGraphSizes : engine.cuda_graph_bs;
  if (engine.cuda_graph_bs.empty()) {
    const int largest = largest_batch(scenario, max_running);
    sizes.erase(
        std::remove_if(sizes.begin(), sizes.end(), [&](int size) { return size >= largest; }),
        sizes.end());
    sizes.push_back(largest);
  }
  return sizes;
}

std::vector<int> sglang_graphs(const Scenario& scenario, const SglangMemoryOptions& memory,
                               int request_table) {
  const EngineConfig& engine = scenario.engine;
  if (engine.disable_cuda_graph) return {};
  SglangGraphOptions options;
  options.era = memory.era;
  options.max_bs = engine.cuda_graph_max_bs > 0
                       ? engine.cuda_graph_max_bs
                       : default_cuda_graph_max_bs(memory.memory_mib, scenario.parallel.tp);
  options.sizes = engine.cuda_graph_bs;
  options.padding = !engine.disable_cuda_graph_padding;
  options.request_table = request_table;
  return sglang_graph_sizes(options);
}

void resolve_sglang(const Scenario& scenario, const DeviceSpec& device, ResolvedEngine& resolved) {
  const EngineConfig& engine = scenario.engine;
  const SglangMemoryOptions memory = memory_options(scenario, device);
  EngineLimits& limits = resolved.limits;
  const int table = request_table_size(engine.max_running_requests, resolved.pool.tokens,
                                       scenario.model.max_context);
  limits.max_running =
      effective_max_running(memory.era, engine.max_running_requests, scenario.parallel.attention_dp,
                            resolved.pool.tokens, table);
  limits.chunk_tokens = engine.chunked_prefill_size != 0
                            ? engine.chunked_prefill_size
                            : default_chunked_prefill_size(memory.memory_mib);
  limits.capture_sizes = sglang_graphs(scenario, memory, table);
  SglangLimits& sglang = limits.sglang;
  sglang.rules = memory.era == SglangEra::a ? SglangRules::feb_2026 : SglangRules::jul_2026;
  sglang.max_prefill_tokens = engine.max_prefill_tokens;
  sglang.ignore_eos = scenario.workload.ignore_eos;
  sglang.radix_cache = !engine.disable_radix_cache;
  sglang.overlap = !engine.disable_overlap_schedule;
  sglang.mixed_chunk = engine.enable_mixed_chunk;
  sglang.schedule_conservativeness = engine.schedule_conservativeness;
  const auto version = parse_sglang_version(engine.version);
  sglang.honour_continuous_decode_steps = engine.hypothetical_continuous_decode ||
                                          (version && version->honours_continuous_decode_steps);
}

void resolve_simple(const Scenario& scenario, ResolvedEngine& resolved) {
  const EngineConfig& engine = scenario.engine;
  EngineLimits& limits = resolved.limits;
  limits.max_running = engine.max_running_requests > 0 ? engine.max_running_requests : 4096;
  limits.chunk_tokens = engine.chunked_prefill_size != 0 ? engine.chunked_prefill_size : 8192;
  limits.capture_sizes = simple_graphs(scenario, limits.max_running);
  resolved.vocab_parallel = false;  // the measured engine replicates embedding and head
}

// Of a trace: sim/deployment/workload.h.
void check_longest_request(const Scenario& scenario, const ResolvedEngine& resolved) {
  if (resolved.limits.pool_tokens < resolved.limits.page_tokens) {
    refuse(scenario, "engine.kv_pool_tokens",
           fmt::format("a pool of {} tokens holds no whole page of {}", resolved.limits.pool_tokens,
                       resolved.limits.page_tokens),
           "give a larger pool");
  }
  if (scenario.workload.client == WorkloadConfig::Client::trace) return;
  const std::int64_t input = length_range(scenario.workload.input).high;
  const std::int64_t output = length_range(scenario.workload.output).high;
  const auto scheduler = make_scheduler(resolved.scheduler, resolved.limits);
  if (!scheduler->fits_alone(input, output)) {
    refuse(scenario, "engine.kv_pool_tokens",
           fmt::format("a pool of {} tokens cannot hold one request of {} + {} tokens",
                       resolved.pool.tokens, input, output),
           "give a larger pool or shorter lengths");
  }
}

DType kv_dtype_in(const Scenario& scenario, const DeviceSpec& device) {
  if (layout_of(scenario) == KvLayout::ds_mla) return DType::fp8;
  const auto kv_dtype = kv_dtype_of(scenario.engine.kv_cache_dtype, scenario.model, device);
  if (!kv_dtype) {
    refuse(scenario, "engine.kv_cache_dtype",
           "'" + scenario.engine.kv_cache_dtype + "' is not a KV cache type",
           "auto, bfloat16, fp8_e4m3, fp8_e5m2 or fp4_e2m1");
  }
  return *kv_dtype;
}

}  // namespace

KvPool kv_pool_of(const Scenario& scenario, const DeviceSpec& device) try {
  return size_pool(scenario, device, kv_dtype_in(scenario, device));
} catch (const std::invalid_argument& error) {
  refuse(scenario, "engine", error.what(),
         "give kv_pool_memory, or free_memory, or a calibration.profile whose device is known");
}

void check_weights(const Scenario& scenario, const DeviceSpec& device) {
  const double bytes = weight_bytes(scenario.model, scenario.parallel).total();
  if (device.memory_bytes <= 0 || bytes <= device.memory_bytes) return;
  refuse(scenario, "model",
         fmt::format("{} does not fit on {} x {} at tp {}: {:.1f} GiB of weights per GPU, {:.1f} "
                     "GiB of memory",
                     scenario.model.name, scenario.hardware.count, device.name,
                     scenario.parallel.tp, bytes / kGiB, device.memory_bytes / kGiB),
         scenario.engine.weights_gib ? "engine.weights was logged elsewhere" : "");
}

ResolvedEngine resolve_engine(const Scenario& scenario, const DeviceSpec& device) {
  ResolvedEngine resolved;
  resolved.scheduler = scenario.engine.kind == EngineConfig::Kind::sglang ? "sglang" : "simple";
  resolved.kv_dtype = kv_dtype_in(scenario, device);
  resolved.pool = size_pool(scenario, device, resolved.kv_dtype);
  if (scenario.engine.weights_gib) {
    SglangPoolInput spec_weights = pool_input(scenario, device, resolved.kv_dtype);
    spec_weights.weights_gib.reset();
    resolved.derived_tokens_spec_weights =
        sglang_kv_pool(scenario.model, spec_weights).derived_tokens;
  }
  resolved.kv_source = scenario.engine.kv_pool_tokens ? scenario.engine.kv_source : "derived";
  resolved.limits.pool_tokens = resolved.pool.tokens;
  resolved.limits.page_tokens = resolved.pool.page_tokens;
  resolved.limits.num_continuous_decode_steps = scenario.engine.num_continuous_decode_steps;
  if (scenario.engine.kind == EngineConfig::Kind::sglang) {
    resolve_sglang(scenario, device, resolved);
  } else {
    resolve_simple(scenario, resolved);
  }
  check_longest_request(scenario, resolved);
  return resolved;
}

}  // namespace plateau
