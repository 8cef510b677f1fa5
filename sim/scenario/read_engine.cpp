#include <algorithm>
#include <array>

#include "sim/scenario/sections.h"
#include "sim/scenario/sglang_version.h"
#include "sim/scenario/unmodelled.h"

namespace plateau {

namespace {

using Kind = EngineConfig::Kind;
using TokenUnit = ConfigReader::TokenUnit;

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
constexpr int kLargestBatch = 1'000'000;

int count_or(ConfigReader* engine, const char* key, Limits<int> limits, int otherwise) {
  return engine->optional<int>(key, limits).value_or(otherwise);
}

bool flag(ConfigReader* engine, const char* key) {
  return engine->optional<bool>(key).value_or(false);
}

std::optional<double> gibibytes(ConfigReader* engine, const char* key) {
  const auto bytes = engine->quantity(key, Dimension::memory, {0.0, 1024 * 1024 * kGibibyte});
  return bytes ? std::optional<double>(*bytes / kGibibyte) : std::nullopt;
}

void read_pool(ConfigReader* engine, bool pool_only, EngineConfig* config) {
  config->kv_pool_tokens = engine->tokens("kv_pool_tokens", {1, kLargestPool}, TokenUnit::optional);
  const auto source = engine->choose("kv_source", {"given", "log", "derived"});
  const bool given = engine->has("kv_pool_tokens");
  config->kv_source = given ? (source == 1 ? "log" : "given") : "derived";
  if (given && source == 2) {
    engine->complain("kv_source", "a pool that is given is not derived",
                     "remove kv_pool_tokens, or this key");
  }
  // A pool that was taken away (kv_pool_tokens: ~) leaves the source that its file named behind.
  if (!given && !engine->taken_away("kv_pool_tokens") && (source == 0 || source == 1)) {
    engine->complain("kv_source", "there is no kv_pool_tokens to have a source");
  }
  if (config->kind == Kind::simple && !given && !engine->has("kv_pool_memory")) {
    engine->complain("kv_pool_tokens", "is missing",
                     "engine kind simple has no rule to size a pool by");
  }
  const auto page = engine->tokens("page_size", {1, 65536}, TokenUnit::optional);
  if (page) config->page_size = static_cast<int>(*page);
  std::vector<std::string> dtypes = {"auto",     "bf16",     "bfloat16",  "fp8_e4m3",
                                     "fp8_e5m2", "fp4_e2m1", "fp8_ds_mla"};
  if (config->kind == Kind::vllm) dtypes.emplace_back("fp8");  // vLLM's name of fp8_e4m3
  config->kv_cache_dtype = dtypes[engine->choose("kv_cache_dtype", dtypes).value_or(0)];
  if (config->kv_cache_dtype == "fp8_ds_mla" && !pool_only) {
    engine->complain("kv_cache_dtype", "not modelled yet: attention over this layout",
                     "its size is: `plateau validate` compares the KV pool alone");
  }
  config->kv_pool_gib = gibibytes(engine, "kv_pool_memory");
  if (given && config->kv_pool_gib) {
    engine->complain("kv_pool_memory", "kv_pool_tokens already gives the pool",
                     "remove one of the two");
  }
}

void read_graphs(ConfigReader* engine, EngineConfig* config) {
  config->disable_cuda_graph = flag(engine, "disable_cuda_graph");
  config->cuda_graph_max_bs = count_or(engine, "cuda_graph_max_bs", {1, kLargestBatch}, 0);
  config->cuda_graph_bs =
      engine->list<int>("cuda_graph_bs", {1, kLargestBatch}).value_or(std::vector<int>{});
  const auto& sizes = config->cuda_graph_bs;
  if (std::adjacent_find(sizes.begin(), sizes.end(), [](int a, int b) { return a >= b; }) !=
      sizes.end()) {
    engine->complain("cuda_graph_bs", "the captured sizes do not rise",
                     "write each size once, smallest first");
  }
}

void read_batch(ConfigReader* engine, EngineConfig* config) {
  const auto chunk =
      engine->tokens("chunked_prefill_size", {-1, kLongestRequest}, TokenUnit::optional);
  if (chunk == 0)
    engine->complain("chunked_prefill_size", "0 tokens cannot be prefilled",
                     "-1 turns chunking off");
  config->chunked_prefill_size = static_cast<int>(chunk.value_or(0));
  config->max_running_requests = count_or(engine, "max_running_requests", {1, kLargestBatch}, 0);
  config->num_continuous_decode_steps =
      count_or(engine, "num_continuous_decode_steps", {1, 100'000}, 1);
}

// The queue's order. Without a prefix cache SGLang turns the cache-aware ones into fcfs, so they
// may be asked for.
void read_policy(ConfigReader* engine, EngineConfig* config, std::vector<std::string>* warnings) {
  const auto policy = engine->optional<std::string>("schedule_policy");
  if (!policy || is_unmodelled("engine", "schedule_policy", *policy) || *policy == "fcfs") return;
  if (*policy != "lpm" && *policy != "dfs-weight") {
    engine->choose("schedule_policy", {"fcfs", "lpm", "dfs-weight"});
  } else if (config->disable_radix_cache) {
    warnings->push_back("engine.schedule_policy: SGLang falls back from " + *policy +
                        " to fcfs when the radix cache is off");
  } else {
    engine->complain("schedule_policy", "not modelled yet: the order " + *policy, "only fcfs");
  }
}

void read_sglang_only(ConfigReader* engine, EngineConfig* config,
                      std::vector<std::string>* warnings) {
  config->mem_fraction_static =
      engine->optional<double>("mem_fraction_static", {0.01, 0.999}).value_or(0);
  config->free_memory_gib = gibibytes(engine, "free_memory");
  config->weights_gib = gibibytes(engine, "weights");
  config->unexplained_gib = gibibytes(engine, "unexplained_memory");
  const auto prefill =
      engine->tokens("max_prefill_tokens", {1, kLongestRequest}, TokenUnit::optional);
  if (prefill) config->max_prefill_tokens = static_cast<int>(*prefill);
  config->disable_cuda_graph_padding = flag(engine, "disable_cuda_graph_padding");
  config->disable_radix_cache = flag(engine, "disable_radix_cache");
  config->disable_overlap_schedule = flag(engine, "disable_overlap_schedule");
  config->enable_mixed_chunk = flag(engine, "enable_mixed_chunk");
  config->schedule_conservativeness =
      engine->optional<double>("schedule_conservativeness", {0.001, 100}).value_or(1);
  read_policy(engine, config, warnings);
}

constexpr std::array kSglangOnly = {"version",
                                    "mem_fraction_static",
                                    "free_memory",
                                    "weights",
                                    "unexplained_memory",
                                    "max_prefill_tokens",
                                    "disable_cuda_graph_padding",
                                    "disable_radix_cache",
                                    "disable_overlap_schedule",
                                    "enable_mixed_chunk",
                                    "schedule_conservativeness",
                                    "schedule_policy",
                                    "hypothetical"};

// A flag of another engine would be ignored, so it is refused.
void refuse_sglang_flags(ConfigReader* engine) {
  for (const char* key : kSglangOnly) {
    if (engine->raw(key) != nullptr)
      engine->complain(key, "engine kind simple has no such flag", "kind: sglang has it");
  }
}

// What sizes a vLLM pool. Nothing of vLLM schedules here, so its other flags, as `plateau scenario`
// writes them, may stand and count for nothing.
constexpr std::array kVllmScheduling = {"version",
                                        "max_num_seqs",
                                        "max_num_batched_tokens",
                                        "max_model_len",
                                        "enforce_eager",
                                        "no_enable_prefix_caching",
                                        "enable_prefix_caching",
                                        "enable_chunked_prefill",
                                        "no_enable_chunked_prefill",
                                        "async_scheduling"};

void read_vllm(ConfigReader* engine, EngineConfig* config) {
  for (const char* key : kVllmScheduling) engine->raw(key);
  config->weights_gib = gibibytes(engine, "weights");
  config->unexplained_gib = gibibytes(engine, "unexplained_memory");
  const auto draft = engine->optional<std::string>("speculative_algorithm");
  config->draft_layers = draft && *draft != "none";
  config->page_size =
      static_cast<int>(engine->tokens("block_size", {1, 65536}, TokenUnit::optional).value_or(0));
}

void read_version(ConfigReader* engine, EngineConfig* config, std::vector<std::string>* warnings) {
  config->version = engine->optional<std::string>("version").value_or("");
  if (!engine->has("version")) {
    engine->complain("version", "is missing",
                     "a release such as 0.5.8, or 2026-02 or 2026-07 for the main branch then");
    return;
  }
  const auto version = parse_sglang_version(config->version);
  if (!version) {
    if (!config->version.empty()) {
      engine->complain("version", "`" + config->version + "` is no version of SGLang",
                       "a release such as 0.5.8, or 2026-02 or 2026-07 for the main branch then");
    }
    return;
  }
  if (version->era_assumed) {
    warnings->push_back("engine.version: the rules of SGLang " + config->version +
                        " were not read; those of " +
                        (version->era == SglangEra::a ? "2026-02" : "2026-07") + " are used");
  }
}

void read_hypothetical(ConfigReader* engine, EngineConfig* config,
                       std::vector<std::string>* warnings) {
  ConfigReader hypothetical = engine->section("hypothetical");
  config->hypothetical_continuous_decode = flag(&hypothetical, "continuous_decode_steps");
  if (config->kind != Kind::sglang || config->num_continuous_decode_steps <= 1) return;
  const auto version = parse_sglang_version(config->version);
  if (!version || version->honours_continuous_decode_steps ||
      config->hypothetical_continuous_decode)
    return;
  warnings->push_back("engine.num_continuous_decode_steps: SGLang " + config->version +
                      " parses this flag and ignores it (every release since 0.3.6 does); set "
                      "engine.hypothetical.continuous_decode_steps: true to study its effect");
}

}  // namespace

void read_engine(ConfigReader engine, bool pool_only, EngineConfig* config,
                 std::vector<std::string>* warnings) {
  const auto kind_text = engine.optional<std::string>("kind");
  if (!pool_only || kind_text != "vllm") refuse_unmodelled("engine", &engine);
  if (!engine.has("kind")) engine.complain("kind", "is missing", "sglang or simple");
  ConfigReader::Choices<Kind> kinds = {{"sglang", Kind::sglang}, {"simple", Kind::simple}};
  if (pool_only) kinds.push_back({"vllm", Kind::vllm});
  if (kind_text && (pool_only || !is_unmodelled("engine", "kind", *kind_text)))
    config->kind = engine.one_of<Kind>("kind", kinds).value_or(Kind::sglang);
  const bool known = kind_text == "sglang" || kind_text == "simple";
  if (config->kind == Kind::vllm) {
    read_vllm(&engine, config);
  } else if (config->kind == Kind::simple) {
    refuse_sglang_flags(&engine);
  } else {
    if (known) read_version(&engine, config, warnings);
    engine.raw("version");
    read_sglang_only(&engine, config, warnings);
  }
  engine.raw("speculative_algorithm");  // refused above, or read for a pool
  config->gpu_memory_utilization =
      engine.optional<double>("gpu_memory_utilization", {0.01, 1}).value_or(0);
  if (config->kind != Kind::vllm && engine.has("gpu_memory_utilization")) {
    engine.complain("gpu_memory_utilization", "is a flag of vLLM",
                    "SGLang's is mem_fraction_static");
  }
  read_pool(&engine, pool_only, config);
  read_graphs(&engine, config);
  read_batch(&engine, config);
  read_hypothetical(&engine, config, warnings);
}

}  // namespace plateau
