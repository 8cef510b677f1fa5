// What an MoE language model is: the numbers of its config.json that decide time, memory and power.
//
// Counts are per model (not per GPU). A model without a kind of module has 0 there. Readers of
// config.json and of models/specs/*.yaml live in calibration/model_config.h (they open files).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plateau {

// Storage types of weights, activations and KV cache.
enum class DType : std::uint8_t { fp32, bf16, fp8, fp8_block, int8, int4, nvfp4, mxfp4 };

const char* name_of(DType dtype);

// Bytes per parameter, scales included: nvfp4 = 4 bit + one FP8 scale per 16 = 0.5625; mxfp4 = 4
// bit + one 8-bit scale per 32 = 0.53125; fp8_block = 1 byte + one FP32 scale per 128x128 block;
// int4 = 4 bit + one bf16 scale per 32 = 0.5625 (compressed-tensors group 32).
double bytes_per_element(DType dtype);

enum class AttentionKind : std::uint8_t {
  gqa,
  mla,
  mla_dsa
};  // mla_dsa: MLA + sparse indexer (DeepSeek-V3.2, GLM-5)

const char* name_of(AttentionKind kind);

struct AttentionSpec {
  AttentionKind kind = AttentionKind::gqa;
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;    // query/key width of one head (MLA: qk_nope + qk_rope)
  int v_head_dim = 0;  // value width of one head
  // MLA
  int q_lora_rank = 0;  // 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;
  // Sparse indexer
  int index_heads = 0;
  int index_head_dim = 0;
  int index_topk = 0;  // attended tokens per query at most
  int indexer_layers =
      0;  // layers that own an indexer (others share one); = layers unless the config says so
  // Sliding window (gpt-oss): window_layers of the layers see at most window_tokens.
  int window_tokens = 0;
  int window_layers = 0;
};

// Which modules are stored in which type.
struct WeightTypes {
  DType routed_experts = DType::bf16;
  DType shared_experts = DType::bf16;
  DType dense_mlp = DType::bf16;
  DType attention = DType::bf16;  // all projections but the output one, indexer included
  // o_proj where it differs: the only quantised projection of some checkpoints
  // (DeepSeek-V3.1-NVFP4).
  std::optional<DType> attention_output;
  DType router = DType::bf16;
  DType embedding = DType::bf16;
  DType lm_head = DType::bf16;

  DType output_projection() const { return attention_output.value_or(attention); }
};

struct ModelSpec {
  std::string name;    // as in `plateau list`, e.g. "glm-5-nvfp4"
  std::string source;  // where the numbers come from
  int layers = 0;
  int dense_layers = 0;  // leading layers with a dense MLP instead of experts
  int hidden = 0;
  int dense_intermediate = 0;
  int experts = 0;  // routed
  int top_k = 0;
  int moe_intermediate = 0;
  int shared_experts = 0;
  int shared_intermediate = 0;  // width of all shared experts together
  int router_groups = 1;        // group-limited routing (DeepSeek: 8)
  int vocab = 0;
  bool tied_embeddings = false;
  bool attention_bias = false;  // bias vectors on q, k, v, o (gpt-oss)
  bool expert_bias = false;     // bias vectors in every expert (gpt-oss)
  int mtp_layers = 0;   // multi-token prediction; in the checkpoint, not in the served model
  int max_context = 0;  // tokens
  AttentionSpec attention;
  WeightTypes weights;
  DType activations = DType::bf16;
  DType kv_dtype = DType::bf16;  // what the checkpoint asks for; the engine may override it

  int moe_layers() const { return layers - dense_layers; }
};

// A number of a spec that cannot be together with the others; `field` as in the structs above.
struct SpecProblem {
  std::string field;
  std::string message;
};
std::vector<SpecProblem> spec_problems(const ModelSpec& spec);

struct Parallelism {
  int tp = 1;
  int pp = 1;
  int ep = 1;
  int attention_dp = 1;
  int replicas = 1;
};

}  // namespace plateau
