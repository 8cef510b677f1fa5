// What SGLang and vLLM choose when a memory or batch flag is not given.
//
// SGLang: server_args.py of both eras (models/sglang_era.h). The choices go by the board's
// memory.total in MiB (nvidia-smi), the smallest GPU's. Reserved MiB, which the default fraction
// leaves free:
//   512 + 1.5 * max(chunk, 2048) + 2 * graph_max_bs + 1024 * tp * pp / 8
//   + DP attention: 3 * bs * dp, and 1.5 * bs * dp more above bs 300
//   + piecewise prefill graphs: 8 per captured size
//   at least 10,240 on boards above 60 GiB; then + 2,048 (EAGLE, MTP) or 6,144 (STANDALONE)
// and mem_fraction_static = (total - reserved) / total to three decimals, 0.88 when the board is
// unknown. Era a counts the graphs even when they are disabled. Multimodal models lower the
// fraction further (not modelled here).
// vLLM: engine/arg_utils.py of main 2026-02-20 and 2026-08-17.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/device_spec.h"
#include "models/model_spec.h"
#include "models/sglang_era.h"

namespace plateau {

// Speculative decoding lowers the default fraction by what its draft worker needs.
// eagle stands for EAGLE and MTP (NEXTN).
enum class Speculation : std::uint8_t { none, eagle, standalone, ngram };

struct SglangMemoryOptions {
  SglangEra era = SglangEra::a;
  double memory_mib = 0;         // memory.total of the smallest GPU; 0: unknown
  int chunked_prefill_size = 0;  // 0: default; -1: chunking off
  int max_prefill_tokens = 16384;
  int cuda_graph_max_bs = 0;  // 0: default
  bool disable_cuda_graph = false;
  int prefill_graph_sizes = 0;      // captured sizes of piecewise prefill graphs; 0: off
  bool mla_prefill_graphs = false;  // era b: prefill graphs of an MLA model
  bool deepep = false;              // era b: DeepEP all-to-all
  Speculation speculation = Speculation::none;
};

int default_chunked_prefill_size(double memory_mib);
int default_cuda_graph_max_bs(double memory_mib, int tp);
// MiB that the default fraction leaves free.
double sglang_reserved_mib(const SglangMemoryOptions& options, const Parallelism& parallel);
double default_mem_fraction_static(const SglangMemoryOptions& options, const Parallelism& parallel);
// `backend` is the attention backend's name; "" = the engine's choice.
int default_page_size(const ModelSpec& spec, const std::string& backend = "");
// kv_cache_dtype `auto`: sparse-attention models get FP8 from compute capability 10 on, others what
// the checkpoint says.
DType auto_kv_dtype(const ModelSpec& spec, const DeviceSpec& device);
// "auto", "bf16" | "bfloat16", "fp8_e4m3" | "fp8_e5m2", "fp4_e2m1"; nothing for any other word.
std::optional<DType> kv_dtype_of(const std::string& kv_cache_dtype, const ModelSpec& spec,
                                 const DeviceSpec& device);

// ---- SGLang: who may run ----

// Rows of the request table; user_max 0 = not given (speculation: 48 then run at most).
int request_table_size(int user_max, std::int64_t pool_tokens, int context_tokens);
// max_running_requests in force for one DP rank.
int effective_max_running(SglangEra era, int user_max, int attention_dp, std::int64_t pool_tokens,
                          int table_size, Speculation speculation = Speculation::none);
// Bytes of the table itself, which no budget counts.
std::int64_t request_table_bytes(int table_size, int context_tokens, int draft_tokens = 0);
// Longest request, prompt and output together.
std::int64_t max_request_tokens(int context_tokens, std::int64_t pool_tokens);

// ---- vLLM ----

enum class VllmEra { feb_2026, aug_2026 };

double default_gpu_memory_utilization(VllmEra era);
// 16; 64 for sparse MLA, whose kernels want it.
int vllm_block_size(const ModelSpec& spec);
int vllm_max_batched_tokens(VllmEra era, double memory_gib, bool a100 = false,
                            bool offline = false);
int vllm_max_num_seqs(double memory_gib, bool a100 = false);
// Largest captured decode batch (models/cuda_graphs.h: vllm_graph_sizes).
int vllm_graph_max(VllmEra era, int max_num_seqs, int max_batched_tokens,
                   int compute_capability_major, int decode_query_tokens = 1);

}  // namespace plateau
