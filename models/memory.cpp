#include "models/memory.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plateau {
namespace {

// Ranks that share one copy of each kind of module.
struct Shards {
  int all = 1;        // dense MLP, shared experts, head
  int attention = 1;  // attention heads
  int experts = 1;    // groups that hold different experts
  int expert_tp = 1;  // ranks that share one expert
  int embedding = 1;
};

Shards shards_of(const Parallelism& parallel) {
  if (parallel.tp < 1 || parallel.ep < 1 || parallel.attention_dp < 1) {
    throw std::invalid_argument("tp, ep and attention_dp must be at least 1");
  }
  if (parallel.pp != 1)
    throw std::invalid_argument("memory of pipeline stages (pp > 1) is not modelled");
  if (parallel.tp % parallel.ep != 0 || parallel.tp % parallel.attention_dp != 0) {
    throw std::invalid_argument("tp must be divisible by ep and by attention_dp");
  }
  Shards shards;
  shards.all = parallel.tp;
  shards.attention = parallel.tp / parallel.attention_dp;
  shards.experts = parallel.ep;
  shards.expert_tp = parallel.tp / parallel.ep;
  shards.embedding = parallel.attention_dp > 1 ? 1 : parallel.tp;
  return shards;
}

double divided(int value, int ranks) { return std::ceil(static_cast<double>(value) / ranks); }

double kv_heads_on_rank(const AttentionSpec& attention, int ranks) {
  return std::max(1, attention.kv_heads / ranks);
}

// Parameters of one layer's attention on one rank.
struct AttentionSizes {
  double sharded = 0;  // without the output projection
  double output = 0;   // o_proj
  double kv_b = 0;     // part of `sharded`
  double replicated = 0;
  double indexer = 0;  // of a layer that owns one
  double bias = 0;
  double norms = 0;
};

AttentionSizes gqa_sizes(const ModelSpec& spec, int ranks) {
  const AttentionSpec& a = spec.attention;
  const double q_heads = divided(a.query_heads, ranks);
  const double kv_heads = kv_heads_on_rank(a, ranks);
  AttentionSizes sizes;
  sizes.sharded = spec.hidden * (q_heads * a.head_dim + kv_heads * (a.head_dim + a.v_head_dim));
  sizes.output = q_heads * a.v_head_dim * spec.hidden;
  if (spec.attention_bias) {
    sizes.bias = q_heads * a.head_dim + kv_heads * (a.head_dim + a.v_head_dim) + spec.hidden;
  }
  return sizes;
}

AttentionSizes mla_sizes(const ModelSpec& spec, int ranks) {
  const AttentionSpec& a = spec.attention;
  const double heads = divided(a.query_heads, ranks);
  const double q_width = a.qk_nope_head_dim + a.qk_rope_head_dim;
  const double q_in = a.q_lora_rank > 0 ? a.q_lora_rank : spec.hidden;
  AttentionSizes sizes;
  sizes.kv_b = a.kv_lora_rank * heads * (a.qk_nope_head_dim + a.v_head_dim);
  sizes.sharded = q_in * heads * q_width + sizes.kv_b;
  sizes.output = heads * a.v_head_dim * spec.hidden;
  sizes.replicated =
      static_cast<double>(spec.hidden) * (a.q_lora_rank + a.kv_lora_rank + a.qk_rope_head_dim);
  if (a.kind == AttentionKind::mla_dsa) {
    // wq_b, wk and the per-head weights projection.
    sizes.indexer = q_in * a.index_heads * a.index_head_dim +
                    static_cast<double>(spec.hidden) * (a.index_head_dim + a.index_heads);
  }
  sizes.norms = a.q_lora_rank + a.kv_lora_rank;
  return sizes;
}

AttentionSizes attention_sizes(const ModelSpec& spec, int ranks) {
  return spec.attention.kind == AttentionKind::gqa ? gqa_sizes(spec, ranks)
                                                   : mla_sizes(spec, ranks);
}

// Sizes of the modules on one rank, each multiplied by what `unit` says an element of its type
// takes.
template <typename Unit>
ModuleSizes module_sizes(const ModelSpec& spec, const Shards& shards, Unit unit) {
  const WeightTypes& types = spec.weights;
  const double hidden = spec.hidden;
  const double moe_layers = spec.moe_layers();
  const double experts = divided(spec.experts, shards.experts);
  ModuleSizes sizes;

  const double expert =
      3 * hidden * divided(spec.moe_intermediate, shards.expert_tp) * unit(types.routed_experts);
  const double expert_bias =
      spec.expert_bias
          ? (2 * divided(spec.moe_intermediate, shards.expert_tp) + hidden) * unit(DType::bf16)
          : 0;
  sizes.routed_experts = moe_layers * experts * (expert + expert_bias);
  sizes.shared_experts = moe_layers * 3 * hidden * divided(spec.shared_intermediate, shards.all) *
                         unit(types.shared_experts);
  sizes.dense_mlp = spec.dense_layers * 3 * hidden * divided(spec.dense_intermediate, shards.all) *
                    unit(types.dense_mlp);

  const AttentionSizes attention = attention_sizes(spec, shards.attention);
  sizes.attention_sharded = spec.layers * (attention.sharded * unit(types.attention) +
                                           attention.output * unit(types.output_projection()) +
                                           attention.bias * unit(DType::bf16));
  sizes.attention_replicated =
      (spec.layers * attention.replicated + spec.attention.indexer_layers * attention.indexer) *
      unit(types.attention);
  sizes.absorbed_kv_b = spec.layers * attention.kv_b * unit(types.attention);

  sizes.router = moe_layers * spec.experts * hidden * unit(types.router);
  sizes.embedding = divided(spec.vocab, shards.embedding) * hidden * unit(types.embedding);
  sizes.lm_head =
      spec.tied_embeddings ? 0 : divided(spec.vocab, shards.all) * hidden * unit(types.lm_head);
  sizes.norms = (spec.layers * (2 * hidden + attention.norms) + hidden) * unit(DType::bf16);
  return sizes;
}

bool four_bit(DType dtype) {
  return dtype == DType::nvfp4 || dtype == DType::mxfp4 || dtype == DType::int4;
}

std::int64_t kv_element_bytes(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return 4;
    case DType::bf16:
      return 2;
    default:
      return 1;  // 4-bit pairs are counted as one byte and halved afterwards, as the engine does
  }
}

std::int64_t mla_layer_bytes(const AttentionSpec& a, DType kv_dtype, KvLayout layout) {
  const std::int64_t width = a.kv_lora_rank + a.qk_rope_head_dim;
  if (layout == KvLayout::ds_mla)
    return a.kv_lora_rank + a.kv_lora_rank / 128 * 4 + 2 * a.qk_rope_head_dim;
  return width * kv_element_bytes(kv_dtype);
}

std::int64_t indexer_layer_bytes(const AttentionSpec& a) {
  return a.kind == AttentionKind::mla_dsa ? a.index_head_dim + a.index_head_dim / 128 * 4 : 0;
}

// KV of all layers without the indexer.
std::int64_t latent_or_heads_bytes(const ModelSpec& spec, const Parallelism& parallel,
                                   DType kv_dtype, KvLayout layout) {
  const AttentionSpec& a = spec.attention;
  const Shards shards = shards_of(parallel);
  const std::int64_t layers = spec.layers;
  if (a.kind != AttentionKind::gqa) {
    const std::int64_t bytes = mla_layer_bytes(a, kv_dtype, layout) * layers;
    if (!four_bit(kv_dtype) || layout == KvLayout::ds_mla) return bytes;
    return bytes / 2 + (a.kv_lora_rank + a.qk_rope_head_dim) / 16 * layers;
  }
  const std::int64_t heads = std::max(1, a.kv_heads / shards.attention);
  const std::int64_t bytes =
      heads * (a.head_dim + a.v_head_dim) * layers * kv_element_bytes(kv_dtype);
  if (!four_bit(kv_dtype)) return bytes;
  return bytes / 2 + heads * a.head_dim * 2 * layers / 16;
}

}  // namespace

double ModuleSizes::total() const {
  double sum = 0;
  for (const auto& item : items()) sum += item.second;
  return sum;
}

std::array<std::pair<const char*, double>, 10> ModuleSizes::items() const {
  return {{{"routed_experts", routed_experts},
           {"shared_experts", shared_experts},
           {"dense_mlp", dense_mlp},
           {"attention_sharded", attention_sharded},
           {"attention_replicated", attention_replicated},
           {"absorbed_kv_b", absorbed_kv_b},
           {"router", router},
           {"embedding", embedding},
           {"lm_head", lm_head},
           {"norms", norms}}};
}

ModuleSizes parameters(const ModelSpec& spec) {
  ModuleSizes sizes = module_sizes(spec, Shards{}, [](DType) { return 1.0; });
  sizes.absorbed_kv_b = 0;
  return sizes;
}

double active_parameters(const ModelSpec& spec) {
  const ModuleSizes sizes = parameters(spec);
  const double share = spec.experts > 0 ? static_cast<double>(spec.top_k) / spec.experts : 0;
  return sizes.total() - sizes.routed_experts * (1 - share);
}

ModuleSizes weight_bytes(const ModelSpec& spec, const Parallelism& parallel) {
  return module_sizes(spec, shards_of(parallel),
                      [](DType dtype) { return bytes_per_element(dtype); });
}

std::int64_t kv_bytes_per_token(const ModelSpec& spec, const Parallelism& parallel, DType kv_dtype,
                                KvLayout layout) {
  return latent_or_heads_bytes(spec, parallel, kv_dtype, layout) +
         indexer_layer_bytes(spec.attention) * spec.layers;
}

std::int64_t kv_allocated_bytes(const ModelSpec& spec, const Parallelism& parallel, DType kv_dtype,
                                std::int64_t tokens, int page, KvLayout layout) {
  if (page < 1 || tokens < 0)
    throw std::invalid_argument("page must be at least 1 and tokens not negative");
  const std::int64_t slots = tokens + page;
  const std::int64_t indexer_pages = (tokens + page + 1) / page;
  return slots * latent_or_heads_bytes(spec, parallel, kv_dtype, layout) +
         indexer_pages * page * indexer_layer_bytes(spec.attention) * spec.layers;
}

WindowPools split_window_pools(const ModelSpec& spec, std::int64_t tokens, int page, double ratio) {
  if (page < 1) throw std::invalid_argument("page must be at least 1");
  const int window_layers = spec.attention.window_layers;
  const double full_layers = spec.layers - window_layers;
  const double slots =
      static_cast<double>(tokens) * spec.layers / (full_layers + ratio * window_layers);
  const auto to_page = [page](double count) {
    return static_cast<std::int64_t>(count) / page * page;
  };
  WindowPools pools;
  pools.full = to_page(slots);
  pools.window = window_layers > 0 ? to_page(slots * ratio) : 0;
  return pools;
}

}  // namespace plateau
