// What a model takes of a GPU's memory: weights per module and KV cache per token.
//
// Weights: parameters of each module, divided as SGLang and vLLM divide them, times
// bytes_per_element (scales included). Under tensor parallelism the routed and shared experts, the
// dense MLP, the attention heads, the embedding and the head are sharded; the router, the norms,
// MLA's down projections (q_a, kv_a: one fused GEMM) and the sparse indexer are replicated on every
// rank. GQA key/value heads are replicated once tp > kv_heads. Experts are spread over ep groups of
// tp/ep ranks; attention runs on tp/attention_dp ranks (embedding replicated when attention_dp >
// 1). MLA keeps a second copy of kv_b, split per head, for the absorbed decode path (SGLang).
//
// Oracle: GLM-5 with NVFP4 experts on 8 GPUs, 55.62 GiB here against 57.06 GiB logged by SGLang
// (+2.6 %: padding, scale swizzling, allocator fragmentation; community measurement on RTX PRO
// 6000). When it is wrong: engines that pad expert widths (MXFP4 on some kernels), shared experts
// under an all-to-all backend (replicated there, sharded here), pipeline stages (refused).
//
// KV cell (SGLang `get_cell_size_per_token`, 2026-02; L layers, e bytes per element):
//   GQA            max(1, kv_heads / attn_tp) * (head_dim + v_head_dim) * L * e
//   MLA            (kv_lora_rank + qk_rope_head_dim) * L * e: the latent is replicated, tp saves
//                  nothing
//   + DSA indexer  (index_head_dim + index_head_dim / 128 * 4) * L bytes: 1-byte keys and an FP32
//                  scale, on every layer even where layers share an indexer (GLM-5.2: 464,768
//                  tokens took 23.91 GiB)
//   4-bit KV       half of the 1-byte cell + one scale byte per 16 elements
// Checked against public logs: 55,224 (GLM-5, fp8), 100,152 (bf16), 48,128 (Qwen3-235B, tp 4),
// 63,488 (MiniMax-M2.5).
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "models/model_spec.h"

namespace plateau {

inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
inline constexpr double kMiB = 1024.0 * 1024.0;

// One number per module: parameters or bytes.
struct ModuleSizes {
  double routed_experts = 0;
  double shared_experts = 0;
  double dense_mlp = 0;
  double attention_sharded = 0;     // divided by tensor parallelism
  double attention_replicated = 0;  // MLA down projections and the indexer: whole on every rank
  double absorbed_kv_b = 0;         // MLA's per-head copy of kv_b (bytes only: no new parameters)
  double router = 0;
  double embedding = 0;
  double lm_head = 0;  // 0 when tied to the embedding
  double norms = 0;

  double total() const;
  std::array<std::pair<const char*, double>, 10> items() const;  // in the order above, by name
};

// Parameters of the served model (MTP layers not counted), whole model.
ModuleSizes parameters(const ModelSpec& spec);

// Parameters one token passes through: top_k of the routed experts, everything else once.
double active_parameters(const ModelSpec& spec);

// Bytes on one GPU. Throws std::invalid_argument for sizes below 1, tp not divisible by ep or
// attention_dp, pp > 1.
ModuleSizes weight_bytes(const ModelSpec& spec, const Parallelism& parallel);

// How an 8-bit MLA latent is stored.
//   plain   one byte per element: 512 + 64 = 576 B per layer (SGLang with a trtllm backend)
//   ds_mla  latent in FP8 with one FP32 scale per 128, rope part in bf16: 512 + 16 + 128 = 656 B
//           per layer (vLLM `fp8_ds_mla`; SGLang's other sparse-attention backends, which still
//           budget 576)
enum class KvLayout : std::uint8_t { plain, ds_mla };

// Bytes of KV cache of one token on one GPU, all layers (window layers counted like full ones).
std::int64_t kv_bytes_per_token(const ModelSpec& spec, const Parallelism& parallel, DType kv_dtype,
                                KvLayout layout = KvLayout::plain);

// Bytes SGLang really allocates for a pool of `tokens`: one page of padding per layer, and whole
// pages for the indexer.
std::int64_t kv_allocated_bytes(const ModelSpec& spec, const Parallelism& parallel, DType kv_dtype,
                                std::int64_t tokens, int page, KvLayout layout = KvLayout::plain);

// SGLang's two pools of a model with sliding-window layers: window layers get `ratio`
// (swa_full_tokens_ratio) slots per slot of the full layers, out of the same bytes. Both floored to
// a page; `full` is what the engine calls its capacity.
struct WindowPools {
  std::int64_t full = 0;
  std::int64_t window = 0;
};
WindowPools split_window_pools(const ModelSpec& spec, std::int64_t tokens, int page,
                               double ratio = 0.8);

}  // namespace plateau
