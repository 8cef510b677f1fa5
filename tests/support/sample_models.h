// Model specs written by hand, so that tests of the arithmetic do not depend on any reader.
#pragma once

#include "models/model_spec.h"

namespace plateau {

// GLM-5: MLA with a sparse indexer, 75 of 78 layers with 256 experts; community checkpoint (NVFP4
// routed experts, everything else bf16).
inline ModelSpec sample_glm5() {
  ModelSpec spec;
  spec.name = "sample-glm-5";
  spec.layers = 78;
  spec.dense_layers = 3;
  spec.hidden = 6144;
  spec.dense_intermediate = 12288;
  spec.experts = 256;
  spec.top_k = 8;
  spec.moe_intermediate = 2048;
  spec.shared_experts = 1;
  spec.shared_intermediate = 2048;
  spec.vocab = 154880;
  spec.max_context = 202752;
  AttentionSpec& a = spec.attention;
  a.kind = AttentionKind::mla_dsa;
  a.query_heads = 64;
  a.kv_heads = 64;
  a.head_dim = 256;
  a.v_head_dim = 256;
  a.q_lora_rank = 2048;
  a.kv_lora_rank = 512;
  a.qk_nope_head_dim = 192;
  a.qk_rope_head_dim = 64;
  a.index_heads = 32;
  a.index_head_dim = 128;
  a.index_topk = 2048;
  a.indexer_layers = 78;
  spec.weights.routed_experts = DType::nvfp4;
  return spec;
}

inline ModelSpec sample_gqa(int layers, int hidden, int query_heads, int kv_heads, int experts,
                            int top_k, int inter, int vocab) {
  ModelSpec spec;
  spec.name = "sample-gqa";
  spec.layers = layers;
  spec.hidden = hidden;
  spec.experts = experts;
  spec.top_k = top_k;
  spec.moe_intermediate = inter;
  spec.vocab = vocab;
  spec.max_context = 40960;
  spec.attention.query_heads = query_heads;
  spec.attention.kv_heads = kv_heads;
  spec.attention.head_dim = 128;
  spec.attention.v_head_dim = 128;
  return spec;
}

inline ModelSpec sample_qwen3_30b() { return sample_gqa(48, 2048, 32, 4, 128, 8, 768, 151936); }
inline ModelSpec sample_qwen3_235b() { return sample_gqa(94, 4096, 64, 4, 128, 8, 1536, 151936); }
inline ModelSpec sample_minimax_m25() { return sample_gqa(62, 3072, 48, 8, 256, 8, 1536, 200064); }

inline ModelSpec sample_gpt_oss_120b() {
  ModelSpec spec = sample_gqa(36, 2880, 64, 8, 128, 4, 2880, 201088);
  spec.attention.head_dim = 64;
  spec.attention.v_head_dim = 64;
  spec.attention.window_tokens = 128;
  spec.attention.window_layers = 18;
  spec.attention_bias = true;
  spec.expert_bias = true;
  spec.weights.routed_experts = DType::mxfp4;
  return spec;
}

inline Parallelism tensor_parallel(int tp) {
  Parallelism parallel;
  parallel.tp = tp;
  return parallel;
}

}  // namespace plateau
