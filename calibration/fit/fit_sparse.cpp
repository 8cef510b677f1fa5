#include "calibration/fit/fit_sparse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "calibration/fitted_law.h"
#include "models/step_ops.h"

namespace plateau {
namespace {

// GLM-5's config.json (zai-org/GLM-5), what one layer's attention needs of it.
ModelSpec glm5_layer() {
  ModelSpec model;
  model.name = "glm-5, one layer";
  model.layers = 1;
  model.dense_layers = 1;
  model.hidden = 6144;
  model.dense_intermediate = 12288;
  model.vocab = 154880;
  AttentionSpec& attention = model.attention;
  attention.kind = AttentionKind::mla_dsa;
  attention.query_heads = 64;
  attention.kv_heads = 64;
  attention.head_dim = 256;
  attention.v_head_dim = 256;
  attention.q_lora_rank = 2048;
  attention.kv_lora_rank = 512;
  attention.qk_nope_head_dim = 192;
  attention.qk_rope_head_dim = 64;
  attention.index_heads = 32;
  attention.index_head_dim = 128;
  attention.index_topk = 2048;
  attention.indexer_layers = 1;
  return model;
}

// The operations of the attention block for a step of `core`'s shape.
std::vector<OpCall> block_of(const OpCall& core) {
  const ModelSpec model = glm5_layer();
  Placement placement;
  placement.parallel.tp =
      static_cast<int>(std::lround(model.attention.query_heads / core.query_heads));
  placement.kv_dtype = core.weights;
  StepShape shape;
  const double context = core.sequences * core.context_tokens;
  if (core.op == Op::mla_decode) {
    shape.decode_sequences = core.sequences;
    shape.decode_padded = core.sequences;
    shape.decode_context_tokens = context;
  } else {
    shape.prefill_sequences = core.sequences;
    shape.prefill_tokens = core.sequences * core.new_tokens;
    shape.prefill_context_tokens = context;
  }
  std::vector<OpCall> block;
  bool inside = false;
  for (const OpCall& call : step_ops(model, placement, shape, ExpertLoad{})) {
    if (std::strcmp(call.label, "qkv_a_gemm") == 0) inside = true;
    if (inside) block.push_back(call);
    if (std::strcmp(call.label, "o_gemm") == 0) break;
  }
  return block;
}

struct Rest {
  double others = 0;   // seconds of everything but the core, gaps included
  double indexer = 0;  // of it, indexer_logits
};

Rest rest_of(const OpCall& core, const SparsePrices& prices) {
  Rest rest;
  for (const OpCall& call : block_of(core)) {
    rest.others += prices.gap * call.count;
    if (call.op == core.op) continue;
    const double seconds = prices.seconds(call) * call.count;
    rest.others += seconds;
    if (call.op == Op::indexer_logits) rest.indexer += seconds;
  }
  return rest;
}

OpCall indexer_call(const OpCall& core) {
  for (const OpCall& call : block_of(core)) {
    if (call.op == Op::indexer_logits) return call;
  }
  return {};
}

}  // namespace

double sparse_block_seconds(const OpCall& core, const SparsePrices& prices) {
  OpCall capped = core;
  if (core.op == Op::mla_decode) {
    capped.context_tokens = std::min(core.context_tokens, core.sparse_tokens);
  }
  return rest_of(core, prices).others + prices.seconds(capped);
}

SparseRows split_sparse_block(const std::vector<TableRow>& block, const SparsePrices& prices) {
  SparseRows rows;
  using AtLimit = std::pair<double, double>;  // context, block seconds
  std::map<std::tuple<DType, double, double>, AtLimit> at_limit;
  for (const TableRow& row : block) {
    OpCall core = row.call;
    // The table's step is one below a power of two: 2049 tokens is the limit.
    if (core.context_tokens > core.sparse_tokens + 1) continue;
    core.context_tokens = std::min(core.context_tokens, core.sparse_tokens);
    const double floor = prices.small_kernel + streamed_bytes(core) / prices.weight_stream;
    const double left = row.seconds - rest_of(row.call, prices).others;
    if (left <= floor) ++rows.at_floor;
    rows.core.push_back({core, std::max(left, floor), row.kernel});
    AtLimit& limit = at_limit[{core.weights, core.sequences, core.query_heads}];
    if (row.call.context_tokens > limit.first) limit = {row.call.context_tokens, row.seconds};
  }
  for (const TableRow& row : block) {
    const OpCall& core = row.call;
    if (core.context_tokens <= core.sparse_tokens + 1) continue;
    const auto limit = at_limit.find({core.weights, core.sequences, core.query_heads});
    if (limit == at_limit.end() || limit->second.first < core.sparse_tokens) continue;
    OpCall short_core = core;
    short_core.context_tokens = limit->second.first;
    const double base = rest_of(short_core, prices).indexer;
    const double gain = std::max(0.0, row.seconds - limit->second.second);
    rows.indexer.push_back({indexer_call(core), base + gain, row.kernel});
  }
  return rows;
}

SparseRows split_sparse_prefill(const std::vector<TableRow>& block, const SparsePrices& prices) {
  SparseRows rows;
  for (const TableRow& row : block) {
    const double left = row.seconds - rest_of(row.call, prices).others;
    if (left > prices.small_kernel) {
      rows.core.push_back({row.call, left, row.kernel});
    } else {
      ++rows.at_floor;
    }
  }
  return rows;
}

}  // namespace plateau
