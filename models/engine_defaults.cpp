#include "models/engine_defaults.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plateau {
namespace {

struct BoardClass {
  double below_mib;
  int chunk;
  int graph_bs_small_tp;  // tp < 4
  int graph_bs;
};

constexpr BoardClass kBoards[] = {
    {20480, 2048, 8, 8},     {35840, 2048, 24, 80},    {61440, 4096, 32, 160},
    {92160, 8192, 256, 512}, {163840, 8192, 256, 512}, {1e18, 16384, 512, 512},
};

constexpr double kLargeBoardMib = 61440;
constexpr double kUnknownBoardFraction = 0.88;
constexpr int kSpeculativeMaxRunning = 48;

const BoardClass& board_of(double memory_mib) {
  for (const BoardClass& board : kBoards) {
    if (memory_mib < board.below_mib) return board;
  }
  throw std::invalid_argument("memory_mib is not a board's memory");
}

double speculation_mib(Speculation speculation) {
  switch (speculation) {
    case Speculation::eagle:
      return 2048;
    case Speculation::standalone:
      return 6144;
    case Speculation::none:
    case Speculation::ngram:
      return 0;
  }
  return 0;
}

double graph_mib(const SglangMemoryOptions& options, const Parallelism& parallel) {
  if (options.era == SglangEra::b && options.disable_cuda_graph) return 0;
  const double bs = options.cuda_graph_max_bs > 0
                        ? options.cuda_graph_max_bs
                        : default_cuda_graph_max_bs(options.memory_mib, parallel.tp);
  double mib = 2 * bs;
  if (parallel.attention_dp > 1) {
    mib += 3 * bs * parallel.attention_dp;
    if (bs > 300) mib += 1.5 * bs * parallel.attention_dp;
  }
  return mib;
}

}  // namespace

int default_chunked_prefill_size(double memory_mib) { return board_of(memory_mib).chunk; }

int default_cuda_graph_max_bs(double memory_mib, int tp) {
  const BoardClass& board = board_of(memory_mib);
  return tp < 4 ? board.graph_bs_small_tp : board.graph_bs;
}

double sglang_reserved_mib(const SglangMemoryOptions& options, const Parallelism& parallel) {
  int chunk = options.chunked_prefill_size;
  if (chunk == 0) chunk = default_chunked_prefill_size(options.memory_mib);
  if (chunk < 0) chunk = options.max_prefill_tokens;
  double mib = 512 + 1.5 * std::max(chunk, 2048) + graph_mib(options, parallel);
  mib += 1024.0 * parallel.tp * parallel.pp / 8;
  mib += 8.0 * options.prefill_graph_sizes;
  if (options.era == SglangEra::b) {
    if (options.mla_prefill_graphs) mib += 1536;
    if (options.deepep) mib += 2048;
  }
  if (options.memory_mib > kLargeBoardMib) mib = std::max(mib, 10240.0);
  return mib + speculation_mib(options.speculation);
}

double default_mem_fraction_static(const SglangMemoryOptions& options,
                                   const Parallelism& parallel) {
  if (options.memory_mib <= 0) return kUnknownBoardFraction;
  const double share =
      (options.memory_mib - sglang_reserved_mib(options, parallel)) / options.memory_mib;
  return std::round(share * 1000) / 1000;
}

int default_page_size(const ModelSpec& spec, const std::string& backend) {
  if (spec.attention.kind == AttentionKind::mla_dsa) return 64;
  if (backend == "cutlass_mla") return 128;
  if (backend == "flashmla" || backend == "trtllm_mla" || backend == "trtllm_mha") return 64;
  return 1;
}

DType auto_kv_dtype(const ModelSpec& spec, const DeviceSpec& device) {
  if (spec.attention.kind == AttentionKind::mla_dsa) {
    return device.compute_capability_major >= 10 ? DType::fp8 : DType::bf16;
  }
  return spec.kv_dtype == DType::fp8 ? DType::fp8 : spec.activations;
}

std::optional<DType> kv_dtype_of(const std::string& kv_cache_dtype, const ModelSpec& spec,
                                 const DeviceSpec& device) {
  if (kv_cache_dtype == "auto") return auto_kv_dtype(spec, device);
  if (kv_cache_dtype == "bf16" || kv_cache_dtype == "bfloat16") return DType::bf16;
  if (kv_cache_dtype == "fp8_e4m3" || kv_cache_dtype == "fp8_e5m2" || kv_cache_dtype == "fp8")
    return DType::fp8;
  if (kv_cache_dtype == "fp4_e2m1") return DType::nvfp4;
  return std::nullopt;
}

int request_table_size(int user_max, std::int64_t pool_tokens, int context_tokens) {
  if (user_max > 0) return user_max;
  if (context_tokens < 1) throw std::invalid_argument("context_tokens must be at least 1");
  const double rows = static_cast<double>(pool_tokens) / context_tokens * 512;
  return static_cast<int>(std::clamp(std::floor(rows), 2048.0, 4096.0));
}

int effective_max_running(SglangEra era, int user_max, int attention_dp, std::int64_t pool_tokens,
                          int table_size, Speculation speculation) {
  if (attention_dp < 1) throw std::invalid_argument("attention_dp must be at least 1");
  if (user_max <= 0 && speculation != Speculation::none) user_max = kSpeculativeMaxRunning;
  const std::int64_t by_pool = pool_tokens / 2;
  std::int64_t running = std::min<std::int64_t>(by_pool, table_size);
  if (user_max > 0) {
    const std::int64_t asked = user_max / attention_dp;
    running = std::min<std::int64_t>(asked, era == SglangEra::a ? table_size : by_pool);
  }
  return static_cast<int>(running);
}

std::int64_t request_table_bytes(int table_size, int context_tokens, int draft_tokens) {
  return static_cast<std::int64_t>(table_size) * (context_tokens + 4 + draft_tokens) * 4;
}

std::int64_t max_request_tokens(int context_tokens, std::int64_t pool_tokens) {
  return std::min<std::int64_t>(context_tokens, pool_tokens) - 1;
}

double default_gpu_memory_utilization(VllmEra era) { return era == VllmEra::feb_2026 ? 0.9 : 0.92; }

int vllm_block_size(const ModelSpec& spec) {
  return spec.attention.kind == AttentionKind::mla_dsa ? 64 : 16;
}

int vllm_max_batched_tokens(VllmEra era, double memory_gib, bool a100, bool offline) {
  if (era == VllmEra::aug_2026 && memory_gib >= 160) return 16384;
  if (memory_gib >= 70 && !a100) return offline ? 16384 : 8192;
  return offline ? 8192 : 2048;
}

int vllm_max_num_seqs(double memory_gib, bool a100) {
  return memory_gib >= 70 && !a100 ? 1024 : 256;
}

int vllm_graph_max(VllmEra era, int max_num_seqs, int max_batched_tokens,
                   int compute_capability_major, int decode_query_tokens) {
  const int ceiling = era == VllmEra::aug_2026 && compute_capability_major == 10 ? 1024 : 512;
  const std::int64_t wanted = static_cast<std::int64_t>(max_num_seqs) * decode_query_tokens * 2;
  return static_cast<int>(std::min<std::int64_t>({wanted, ceiling, max_batched_tokens}));
}

}  // namespace plateau
