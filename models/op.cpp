#include "models/op.h"

namespace plateau {

const char* name_of(Part part) {
  static constexpr const char* kNames[kParts] = {"attention",  "dense_gemm", "moe",  "all_reduce",
                                                 "all_to_all", "launch",     "host", "norm_etc",
                                                 "lm_head",    "wait",       "idle"};
  return kNames[static_cast<int>(part)];
}

const char* name_of(Op op) {
  switch (op) {
    case Op::embedding:
      return "embedding";
    case Op::rms_norm:
      return "rms_norm";
    case Op::gemm:
      return "gemm";
    case Op::rope_kv_write:
      return "rope_kv_write";
    case Op::attention_decode:
      return "attention_decode";
    case Op::attention_prefill:
      return "attention_prefill";
    case Op::mla_decode:
      return "mla_decode";
    case Op::mla_prefill:
      return "mla_prefill";
    case Op::mla_bmm:
      return "mla_bmm";
    case Op::indexer_logits:
      return "indexer_logits";
    case Op::indexer_topk:
      return "indexer_topk";
    case Op::residual_add:
      return "residual_add";
    case Op::activation:
      return "activation";
    case Op::moe_dispatch:
      return "moe_dispatch";
    case Op::moe_experts:
      return "moe_experts";
    case Op::moe_combine:
      return "moe_combine";
    case Op::all_reduce:
      return "all_reduce";
    case Op::all_gather:
      return "all_gather";
    case Op::lm_head:
      return "lm_head";
    case Op::sampling:
      return "sampling";
  }
  return "?";
}

namespace {

constexpr double kActivationBytes = 2;  // bf16 activations in every engine modelled

// Reads `in` and writes `out` numbers per row element, bf16.
Work elementwise(const OpCall& call, double in, double out) {
  return {call.m * call.k, call.m * call.k * (in + out) * kActivationBytes};
}

Work linear(const OpCall& call) {
  return {2 * call.m * call.n * call.k, call.n * call.k * bytes_per_element(call.weights) +
                                            call.m * (call.n + call.k) * kActivationBytes};
}

// Scores and values: 2 * 2 * head_dim multiply-adds per attended pair. KV is read once per sequence
// (kv_heads * 2 heads of head_dim; latent attention reads one shared vector, which is key and value
// at once).
Work attention(const OpCall& call, bool latent, bool causal) {
  const double attended =
      causal ? call.context_tokens - (call.new_tokens - 1) / 2 : call.context_tokens;
  const double pairs = call.sequences * call.new_tokens * attended;
  const double kv_width = latent ? call.head_dim : 2 * call.kv_heads * call.head_dim;
  const double rows = call.sequences * call.new_tokens * call.query_heads * call.head_dim;
  return {4 * pairs * call.query_heads * call.head_dim,
          call.sequences * call.context_tokens * kv_width * bytes_per_element(call.weights) +
              2 * rows * kActivationBytes};
}

// Per head a GEMM of m rows: k -> n.
Work head_bmm(const OpCall& call) {
  return {2 * call.m * call.n * call.k * call.query_heads,
          call.query_heads * (call.n * call.k + call.m * (call.n + call.k)) * kActivationBytes};
}

Work experts(const OpCall& call) {
  const double rows = call.m * call.top_k;
  const double expert_weights = 3 * call.hidden * call.inter;  // gate, up, down
  return {2 * rows * expert_weights,
          call.active_experts * expert_weights * bytes_per_element(call.weights) +
              rows * (2 * call.hidden + 3 * call.inter) * kActivationBytes};
}

Work router(const OpCall& call) {
  OpCall gemm = call;
  gemm.n = call.experts;
  gemm.k = call.hidden;
  gemm.weights = DType::bf16;
  return linear(gemm);
}

Work indexer(const OpCall& call) {
  const double pairs = call.sequences * call.new_tokens * call.context_tokens;
  return {2 * pairs * call.query_heads * call.head_dim,
          call.sequences * call.context_tokens * (call.head_dim + 4) + pairs * 4};
}

}  // namespace

Work work_of(const OpCall& call) {
  switch (call.op) {
    case Op::embedding:
      return elementwise(call, 1, 1);
    case Op::rms_norm:
      return elementwise(call, 1, 1);
    case Op::rope_kv_write:
      return elementwise(call, 1, 1);
    case Op::residual_add:
      return elementwise(call, 2, 1);
    case Op::activation:
      return elementwise(call, 2, 1);  // k = width after the activation
    case Op::moe_combine:
      return elementwise(call, call.top_k, 1);
    case Op::gemm:
      return linear(call);
    case Op::lm_head:
      return linear(call);
    case Op::attention_decode:
      return attention(call, false, false);
    case Op::attention_prefill:
      return attention(call, false, true);
    case Op::mla_decode:
      return attention(call, true, false);
    case Op::mla_prefill:
      return attention(call, false, true);
    case Op::mla_bmm:
      return head_bmm(call);
    case Op::indexer_logits:
      return indexer(call);
    case Op::indexer_topk:
      return {0, call.sequences * call.new_tokens * call.context_tokens * 4};
    case Op::moe_dispatch:
      return router(call);
    case Op::moe_experts:
      return experts(call);
    case Op::all_reduce:
      return {0, 2 * call.bytes};
    case Op::all_gather:
      return {0, call.bytes};
    case Op::sampling:
      return {call.m * call.n,
              call.m * call.n * 10};  // bf16 logits -> fp32, then one pass over them
  }
  return {};
}

}  // namespace plateau
