// One operation of an engine step: what runs, how large it is, how often, and which part of the
// report it belongs to. `step_ops` (models/step_ops.h) writes a step as a list of these; a
// KernelCosts prices each one.
#pragma once

#include <cstdint>

#include "models/estimate.h"
#include "models/model_spec.h"

namespace plateau {

// The parts of a step's time and energy, as the report names them.
enum class Part : std::uint8_t {
  attention,   // projections' core: attention kernels, MLA absorption, indexer
  dense_gemm,  // projections, dense MLP, shared experts, router
  moe,         // dispatch, routed experts, combine
  all_reduce,  // the whole collective as measured, spinning included
  all_to_all,
  launch,    // gaps between kernels, CPU launch bound time
  host,      // gap between steps
  norm_etc,  // norms, rope, KV write, residual, quantise, embedding
  lm_head,   // head GEMM, logits gather, sampling
  wait,      // lost to a later peer beyond the collective's own time
  idle       // nothing to run
};
inline constexpr int kParts = 11;

const char* name_of(Part part);

enum class Op : std::uint8_t {
  embedding,
  rms_norm,
  gemm,  // dense linear: m tokens, n x k weights
  rope_kv_write,
  attention_decode,   // GQA, one new token per sequence
  attention_prefill,  // GQA, causal
  mla_decode,         // latent attention core only
  mla_prefill,
  mla_bmm,  // absorption of kv_b: per head batched GEMM, before (pre) or after (post) the core
  indexer_logits,  // sparse indexer: scores of all context tokens
  indexer_topk,
  residual_add,
  activation,    // SiLU * up of a dense MLP or shared expert
  moe_dispatch,  // router GEMM (m x experts x hidden), top-k; sort and gather where the expert
                 // kernel does not do them
  moe_experts,   // grouped GEMMs of the routed experts, activation between
  moe_combine,   // un-sort, weighted sum
  all_reduce,
  all_gather,
  lm_head,  // head GEMM; argmax where the profile measured it together
  sampling
};

const char* name_of(Op op);

// Shape of one call on ONE GPU. Only the fields that belong to `op` are set; the rest stay 0.
struct OpCall {
  Op op = Op::gemm;
  Part part = Part::dense_gemm;
  const char* label = "";       // "qkv_gemm", "o_gemm", ...: a static string, for `plateau step`
  double count = 1;             // calls per step (layers x calls per layer)
  double kernels = 1;           // launches per call
  DType weights = DType::bf16;  // of the GEMM's weights; of the KV cache for attention

  double m = 0;  // tokens (rows)
  double n = 0;  // output width
  double k = 0;  // input width; for elementwise operations the row width

  // attention
  double sequences = 0;
  double new_tokens = 0;      // query tokens per sequence (decode: 1), mean
  double context_tokens = 0;  // KV tokens per sequence that are read, new ones included, mean
  double query_heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
  double window_tokens = 0;  // 0: full attention
  double sparse_tokens = 0;  // sparse attention: at most this many are attended; 0: dense

  // experts; m = tokens entering the layer on the whole expert group
  double hidden = 0;
  double inter = 0;    // expert width on this GPU
  double experts = 0;  // on this GPU (moe_dispatch: over all GPUs, the router's width)
  double top_k = 0;
  double active_experts = 0;      // on this GPU, distinct, mean over layers
  double rows_max_over_mean = 1;  // hottest expert over the mean of all experts

  // collectives
  double bytes = 0;  // of the tensor (all_gather: of the gathered output)
  int ranks = 1;
};

// Least work of one call: multiply-adds count 2 flops; bytes = weights read once (only of active
// experts) + rows in and out. The roofline every measured time is compared with.
struct Work {
  double flops = 0;
  double bytes = 0;
};
Work work_of(const OpCall& call);

// Price of ONE call (not times count): seconds, and the board's mean watts while it runs.
struct OpCost {
  Estimate seconds;
  Estimate watts;
};

}  // namespace plateau
