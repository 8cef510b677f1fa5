#include "models/step_ops.h"

#include <algorithm>

namespace plateau {

namespace {

// Writes the operations of a step in execution order; each repeats `count` times over the layers.
class OpList {
 public:
  OpList(const ModelSpec& model, const Placement& placement, const StepShape& shape,
         const ExpertLoad& load)
      : model_(model),
        placement_(placement),
        shape_(shape),
        load_(load),
        tp_(placement.parallel.tp),
        m_(shape.tokens()) {
    ops_.reserve(48);
  }

  std::vector<OpCall> write() {
    embedding();
    const double layers = model_.layers;
    elementwise(Op::rms_norm, "input_norm", layers, model_.hidden);
    if (model_.attention.kind == AttentionKind::gqa) {
      gqa_attention();
    } else {
      latent_attention();
    }
    all_reduce("all_reduce_attention", layers);
    elementwise(Op::residual_add, "residual_attention", layers, model_.hidden);
    elementwise(Op::rms_norm, "post_attention_norm", layers, model_.hidden);
    dense_mlp();
    expert_mlp();
    all_reduce("all_reduce_mlp", layers);
    elementwise(Op::residual_add, "residual_mlp", layers, model_.hidden);
    elementwise(Op::rms_norm, "final_norm", 1, model_.hidden);
    head();
    return std::move(ops_);
  }

 private:
  OpCall& add(Op op, Part part, const char* label, double count, double kernels = 1) {
    OpCall call;
    call.op = op;
    call.part = part;
    call.label = label;
    call.count = count;
    call.kernels = kernels;
    call.m = m_;
    ops_.push_back(call);
    return ops_.back();
  }

  void elementwise(Op op, const char* label, double count, double width, double kernels = 1) {
    if (count <= 0) return;
    add(op, Part::norm_etc, label, count, kernels).k = width;
  }

  void gemm(const char* label, double count, double n, double k, DType weights) {
    if (count <= 0 || n <= 0) return;
    OpCall& call = add(Op::gemm, Part::dense_gemm, label, count);
    call.n = n;
    call.k = k;
    call.weights = weights;
  }

  void all_reduce(const char* label, double count) {
    if (tp_ == 1) return;
    OpCall& call = add(Op::all_reduce, Part::all_reduce, label, count);
    call.bytes = m_ * model_.hidden * 2;
    call.ranks = tp_;
  }

  void embedding() {
    add(Op::embedding, Part::norm_etc, "embedding", 1).k = model_.hidden;
    if (placement_.vocab_parallel) all_reduce("all_reduce_embedding", 1);
  }

  // Decode and prefill sequences of one batch run through separate attention kernels.
  OpCall& attention_call(Op op, const char* label, double count, bool prefill) {
    OpCall& call = add(op, Part::attention, label, count,
                       prefill ? 1 : 2);  // decode: split-KV kernel + combine
    call.weights = placement_.kv_dtype;
    // Rows that only pad a captured batch read one token of context.
    const double padding = shape_.decode_padded - shape_.decode_sequences;
    call.sequences = prefill ? shape_.prefill_sequences : shape_.decode_padded;
    call.new_tokens = prefill ? shape_.prefill_tokens / shape_.prefill_sequences : 1;
    const double context =
        prefill ? shape_.prefill_context_tokens : shape_.decode_context_tokens + padding;
    call.context_tokens = context / call.sequences;
    return call;
  }

  void gqa_attention() {
    const AttentionSpec& a = model_.attention;
    const double query = static_cast<double>(a.query_heads) / tp_;
    const double kv = std::max(1.0, static_cast<double>(a.kv_heads) / tp_);
    const double layers = model_.layers;
    gemm("qkv_gemm", layers, (query + kv) * a.head_dim + kv * a.v_head_dim, model_.hidden,
         model_.weights.attention);
    elementwise(Op::rope_kv_write, "rope_kv_write", layers, (query + 2 * kv) * a.head_dim, 2);
    gqa_core(layers - a.window_layers, 0, query, kv);
    gqa_core(a.window_layers, a.window_tokens, query, kv);
    gemm("o_gemm", layers, model_.hidden, query * a.v_head_dim, model_.weights.output_projection());
  }

  void gqa_core(double layers, double window, double query, double kv) {
    if (layers <= 0) return;
    for (const bool prefill : {false, true}) {
      if ((prefill ? shape_.prefill_tokens : shape_.decode_padded) <= 0) continue;
      OpCall& call =
          attention_call(prefill ? Op::attention_prefill : Op::attention_decode,
                         prefill ? "attention_prefill" : "attention_decode", layers, prefill);
      call.query_heads = query;
      call.kv_heads = kv;
      call.head_dim = model_.attention.head_dim;
      call.window_tokens = window;
      if (window > 0 && !prefill) call.context_tokens = std::min(call.context_tokens, window);
    }
  }

  void latent_attention() {
    const AttentionSpec& a = model_.attention;
    const double heads = static_cast<double>(a.query_heads) / tp_;
    const double layers = model_.layers;
    const DType weights = model_.weights.attention;
    const double latent = a.kv_lora_rank + a.qk_rope_head_dim;
    gemm("qkv_a_gemm", layers, a.q_lora_rank + latent, model_.hidden, weights);
    elementwise(Op::rms_norm, "latent_norm", layers, a.q_lora_rank + a.kv_lora_rank);
    const double q_input = a.q_lora_rank > 0 ? a.q_lora_rank : model_.hidden;
    gemm("q_b_gemm", layers, heads * a.head_dim, q_input, weights);
    if (a.kind == AttentionKind::mla_dsa) indexer();
    elementwise(Op::rope_kv_write, "rope_kv_write", layers, heads * a.qk_rope_head_dim + latent, 2);
    if (shape_.decode_padded > 0) latent_decode(heads, latent);
    if (shape_.prefill_tokens > 0) latent_prefill(heads);
    gemm("o_gemm", layers, model_.hidden, heads * a.v_head_dim, model_.weights.output_projection());
  }

  // Absorbed form: queries are taken into the latent space, so KV is read once for all heads.
  void latent_decode(double heads, double latent) {
    const AttentionSpec& a = model_.attention;
    head_bmm("mla_bmm_pre", heads, a.qk_nope_head_dim, a.kv_lora_rank);
    OpCall& core = attention_call(Op::mla_decode, "mla_decode", model_.layers, false);
    core.query_heads = heads;
    core.kv_heads = 1;
    core.head_dim = latent;
    core.sparse_tokens = a.index_topk;
    if (a.index_topk > 0)
      core.context_tokens = std::min(core.context_tokens, static_cast<double>(a.index_topk));
    head_bmm("mla_bmm_post", heads, a.kv_lora_rank, a.v_head_dim);
  }

  void head_bmm(const char* label, double heads, double k, double n) {
    OpCall& call = add(Op::mla_bmm, Part::attention, label, model_.layers);
    call.m = shape_.decode_padded;
    call.query_heads = heads;
    call.k = k;
    call.n = n;
  }

  // Prompts are short against the latent's head count, so engines expand K and V once and attend as
  // usual.
  void latent_prefill(double heads) {
    const AttentionSpec& a = model_.attention;
    gemm("kv_b_gemm", model_.layers, heads * (a.qk_nope_head_dim + a.v_head_dim), a.kv_lora_rank,
         model_.weights.attention);
    ops_.back().m = shape_.prefill_context_tokens;
    OpCall& core = attention_call(Op::mla_prefill, "mla_prefill", model_.layers, true);
    core.query_heads = heads;
    core.kv_heads = heads;
    core.head_dim = a.head_dim;
    core.sparse_tokens = a.index_topk;
    // Dense prefill attends to keys and values expanded in bf16, sparse to the cache itself.
    if (a.index_topk == 0) core.weights = DType::bf16;
  }

  void indexer() {
    const AttentionSpec& a = model_.attention;
    const double layers = a.indexer_layers;
    gemm("index_q_gemm", layers, static_cast<double>(a.index_heads) * a.index_head_dim,
         a.q_lora_rank, model_.weights.attention);
    gemm("index_k_gemm", layers, a.index_head_dim + a.index_heads, model_.hidden,
         model_.weights.attention);
    for (const bool prefill : {false, true}) {
      if ((prefill ? shape_.prefill_tokens : shape_.decode_padded) <= 0) continue;
      for (const Op op : {Op::indexer_logits, Op::indexer_topk}) {
        OpCall& call = attention_call(op, name_of(op), layers, prefill);
        call.kernels = 1;
        call.query_heads = a.index_heads;
        call.head_dim = a.index_head_dim;
        call.weights = DType::fp8;
      }
    }
  }

  void gated_mlp(const char* up_label, const char* down_label, double layers, double inter,
                 DType weights) {
    if (layers <= 0 || inter <= 0) return;
    gemm(up_label, layers, 2 * inter, model_.hidden, weights);
    elementwise(Op::activation, "activation", layers, inter);
    gemm(down_label, layers, model_.hidden, inter, weights);
  }

  void dense_mlp() {
    gated_mlp("dense_gate_up_gemm", "dense_down_gemm", model_.dense_layers,
              static_cast<double>(model_.dense_intermediate) / tp_, model_.weights.dense_mlp);
  }

  void expert_mlp() {
    const double layers = model_.moe_layers();
    if (layers <= 0) return;
    OpCall& dispatch = add(Op::moe_dispatch, Part::moe, "moe_dispatch", layers, 3);
    dispatch.hidden = model_.hidden;
    dispatch.experts = model_.experts;
    dispatch.top_k = model_.top_k;
    OpCall& experts = add(Op::moe_experts, Part::moe, "moe_experts", layers, 5);
    experts.weights = model_.weights.routed_experts;
    experts.hidden = model_.hidden;
    experts.inter = static_cast<double>(model_.moe_intermediate) / tp_;
    experts.experts = model_.experts;
    experts.top_k = model_.top_k;
    experts.active_experts = load_.active_experts;
    experts.rows_max_over_mean = load_.rows_max_over_mean;
    OpCall& combine = add(Op::moe_combine, Part::moe, "moe_combine", layers, 1);
    combine.k = model_.hidden;
    combine.top_k = model_.top_k;
    gated_mlp("shared_gate_up_gemm", "shared_down_gemm", layers,
              static_cast<double>(model_.shared_intermediate) / tp_, model_.weights.shared_experts);
  }

  // Only the last token of each prompt needs logits.
  void head() {
    const double rows = shape_.decode_padded + shape_.prefill_sequences;
    OpCall& call = add(Op::lm_head, Part::lm_head, "lm_head", 1);
    call.m = rows;
    call.n = placement_.vocab_parallel ? static_cast<double>(model_.vocab) / tp_ : model_.vocab;
    call.k = model_.hidden;
    call.weights = model_.weights.lm_head;
    if (placement_.vocab_parallel && tp_ > 1) {
      OpCall& gather = add(Op::all_gather, Part::lm_head, "logits_all_gather", 1);
      gather.bytes = rows * model_.vocab * 2;
      gather.ranks = tp_;
    }
    OpCall& sampling = add(Op::sampling, Part::lm_head, "sampling", 1, 3);
    sampling.m = rows;
    sampling.n = model_.vocab;
  }

  const ModelSpec& model_;
  const Placement& placement_;
  const StepShape& shape_;
  const ExpertLoad& load_;
  int tp_;
  double m_;
  std::vector<OpCall> ops_;
};

}  // namespace

std::vector<OpCall> step_ops(const ModelSpec& model, const Placement& placement,
                             const StepShape& shape, const ExpertLoad& load) {
  return OpList(model, placement, shape, load).write();
}

}  // namespace plateau
