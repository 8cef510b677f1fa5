// How many tokens of KV cache an engine makes room for, by the engine's own rule.
//
// SGLang (main of 2026-02-20 and 2026-07-20), in GiB, minimum over ranks:
//   rest   = free_after_weights - free_before_weights * (1 - mem_fraction_static) - unexplained
//   tokens = int(rest * 2^30) / cell_bytes, cut by max_total_tokens, floored to a page
// The fraction reserves a share of what was free BEFORE the weights came, not of the board; its
// default is in models/engine_defaults.h. Checked against a public log: 314,304 tokens (GLM-5, bf16
// KV, fraction 0.92, RTX PRO 6000).
//
// vLLM V1 (main of 2026-02-20 and 2026-08-17), in bytes:
//   kv     = ceil(total * gpu_memory_utilization) - weights - activation peak - non-torch
//            (2026-08: less the graphs too)
//   blocks = kv / (block_size * bytes per token of one layer) / layers; one is never used
//
// unexplained: memory a GPU that no term of the engine's rule is, 0 unless a log of this deployment
// has told it (sim/calibrate/memory_fit.h); vLLM's `kv` loses it too.
//
// When it is wrong: what is allocated after the pool (request table, graphs, workspaces, wider FP8
// layouts) is in neither formula, and what an engine holds before it profiles is unknown. A pool
// read from a log wins over a derived one; KvPool::unexplained_gib says how far they are apart (3.8
// GiB for the logged 495,488 tokens of GLM-5-NVFP4 on 8 RTX PRO 6000).
#pragma once

#include <cstdint>
#include <optional>

#include "models/engine_defaults.h"
#include "models/memory.h"
#include "models/model_spec.h"

namespace plateau {

// What set the size of a pool.
enum class PoolBound : std::uint8_t { memory, max_total_tokens, given };
const char* name_of(PoolBound bound);

// Why there is no pool: weights and reserve leave no page.
struct Misfit {
  double missing_gib = 0;  // per GPU, until one page fits
  // mem_fraction_static (gpu_memory_utilization) at which weights leave nothing yet, as SGLang
  // reports it; above 1: none is enough.
  double minimum_fraction = 0;
  int fits_at_tp = 0;  // smallest of 2, 4, ... 64 times the present tp that leaves a page; 0: none
};

struct KvPool {
  std::int64_t tokens = 0;         // capacity in force
  std::int64_t window_tokens = 0;  // slots of the sliding-window layers' own pool; 0: none
  int page_tokens = 1;  // page; vLLM: tokens one block holds over its context-parallel ranks
  std::int64_t cell_bytes = 0;
  PoolBound bound = PoolBound::memory;
  double fraction = 0;                         // in force
  double free_gib = 0;                         // before weights, in force
  double weights_gib = 0;                      // in force
  double budget_gib = 0;                       // what the rule leaves for KV; negative: a misfit
  double allocated_gib = 0;                    // what the pool really takes
  std::optional<std::int64_t> derived_tokens;  // by the rule, when it could be applied
  double told_unexplained_gib = 0;             // the input's, where the rule used it
  // KV of the derived pool less that of the given one: memory the rule cannot account for.
  std::optional<double> unexplained_gib;
  std::optional<Misfit> misfit;
};

struct SglangPoolInput {
  SglangMemoryOptions options;
  Parallelism parallel;
  DType kv_dtype = DType::bf16;
  KvLayout layout = KvLayout::plain;  // what is allocated; the budget always counts the plain cell
  double mem_fraction_static = 0;     // 0: default rule
  // Free before weights load, minimum over ranks; nothing: the board less overhead_gib.
  std::optional<double> free_gib;
  double overhead_gib = 1.7;          // context, driver, NCCL: RTX PRO 6000 log 1.7, H200 log 2.5
  std::optional<double> weights_gib;  // logged; else from the spec
  double unexplained_gib = 0;         // held by the engine, in no other term
  // Logged size of the KV cache: replaces all of the above; counted in the cells of `layout`.
  std::optional<double> kv_gib;
  int page_tokens = 0;                 // 0: default
  std::int64_t max_total_tokens = 0;   // 0: not given
  bool window_pools = true;            // sliding-window layers get their own pool (hybrid memory)
  double swa_full_tokens_ratio = 0.8;  // slots of a window layer per slot of a full one
  std::optional<std::int64_t> given_tokens;  // read from a log or a flag: wins
};
KvPool sglang_kv_pool(const ModelSpec& spec, const SglangPoolInput& input);

struct VllmPoolInput {
  VllmEra era = VllmEra::feb_2026;
  Parallelism parallel;
  DType kv_dtype = DType::bf16;
  KvLayout layout = KvLayout::plain;
  double memory_gib = 0;              // board
  double gpu_memory_utilization = 0;  // 0: default of the era
  std::optional<double> weights_gib;  // logged; else from the spec
  double activation_gib = 0;          // peak of the dummy run
  double non_torch_gib = 0;
  double unexplained_gib = 0;  // as SglangPoolInput's
  double graphs_gib = 0;       // subtracted from 2026-08 on only
  // "Available KV cache memory" or kv_cache_memory_bytes: replaces all of the above.
  std::optional<double> kv_gib;
  int block_tokens = 0;      // 0: 16, or 64 for sparse MLA
  int draft_layers = 0;      // MTP layers hold their own cache
  int context_parallel = 1;  // decode (and prefill) context parallel: tokens spread over ranks
  std::optional<std::int64_t> given_tokens;
};
// tokens counts all blocks, as the engine prints it; requests may take vllm_usable_blocks.
KvPool vllm_kv_pool(const ModelSpec& spec, const VllmPoolInput& input);
std::int64_t vllm_usable_blocks(const KvPool& pool);
// "Maximum concurrency for N tokens per request".
double vllm_max_concurrency(const KvPool& pool, std::int64_t tokens_per_request);

}  // namespace plateau
