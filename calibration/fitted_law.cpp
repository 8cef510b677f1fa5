#include "calibration/fitted_law.h"

#include <algorithm>
#include <cmath>

namespace plateau {

const char* name_of(Feature feature) {
  static constexpr const char* kNames[] = {"m",
                                           "n",
                                           "k",
                                           "sequences",
                                           "new_tokens",
                                           "context_tokens",
                                           "query_heads",
                                           "kv_blocks",
                                           "query_tokens",
                                           "pairs",
                                           "query_blocks",
                                           "group",
                                           "active_experts",
                                           "rows_per_expert",
                                           "rows_max_over_mean",
                                           "expert_bytes"};
  return kNames[static_cast<int>(feature)];
}

double value_of(Feature feature, const OpCall& call) {
  switch (feature) {
    case Feature::m:
      return call.m;
    case Feature::n:
      return call.n;
    case Feature::k:
      return call.k;
    case Feature::sequences:
      return call.sequences;
    case Feature::new_tokens:
      return call.new_tokens;
    case Feature::context_tokens:
      return call.context_tokens;
    case Feature::query_heads:
      return call.query_heads;
    case Feature::kv_blocks:
      return call.sequences * call.kv_heads;
    case Feature::query_tokens:
      return call.sequences * call.new_tokens;
    case Feature::pairs:
      return call.sequences * call.new_tokens * call.context_tokens;
    case Feature::query_blocks:
      return call.sequences * call.query_heads;
    case Feature::group:
      return call.query_heads / call.kv_heads;
    case Feature::active_experts:
      return call.active_experts;
    case Feature::rows_per_expert:
      return call.m * call.top_k / call.active_experts;
    case Feature::rows_max_over_mean:
      return call.rows_max_over_mean;
    case Feature::expert_bytes:
      return 3 * call.hidden * call.inter * bytes_per_element(call.weights);
  }
  return 0;
}

namespace {

int rounded(double value) { return static_cast<int>(std::lround(value)); }

double peak_of(const OpCall& call, const DeviceSpec& device) {
  switch (call.op) {
    case Op::attention_decode:
    case Op::attention_prefill:
    case Op::mla_decode:
    case Op::mla_prefill:
    case Op::mla_bmm:
      return device.bf16_flops;  // whatever the cache is stored in, scores are multiplied in bf16
    default:
      return device.peak_flops(call.weights);
  }
}

}  // namespace

LawKey key_of(const OpCall& call) {
  LawKey key{call.op, call.weights, {}};
  switch (call.op) {
    case Op::attention_decode:
    case Op::attention_prefill:
      key.geometry = {rounded(call.head_dim), call.window_tokens > 0 ? 1 : 0, 0, 0};
      break;
    case Op::mla_decode:
    case Op::mla_prefill:
      key.geometry[0] = call.sparse_tokens > 0 ? 1 : 0;
      break;
    case Op::mla_bmm:
      key.geometry[0] = call.n > call.k ? 0 : 1;
      break;
    case Op::indexer_logits:
    case Op::indexer_topk:
      key.geometry[0] = call.new_tokens > 1 ? 1 : 0;
      break;
    case Op::moe_experts:
      key.geometry = {rounded(call.hidden), rounded(call.inter), rounded(call.experts),
                      rounded(call.top_k)};
      break;
    case Op::lm_head:
      key.op = Op::gemm;
      break;
    default:
      break;
  }
  return key;
}

double reference_seconds(const OpCall& call, const DeviceSpec& device) {
  const Work work = work_of(call);
  return std::hypot(work.flops / peak_of(call, device), work.bytes / device.memory_bandwidth);
}

OpCall as_tabulated(const OpCall& call) {
  constexpr double kLatentRank = 512;
  constexpr double kNopeDim = 128;
  constexpr double kValueDim = 128;
  constexpr double kPrefillHeadDim = 192;
  constexpr double kSparseHeadDim = 256;  // GLM-5, whose block the sparse laws are taken from
  OpCall known = call;
  if (call.op == Op::mla_bmm) {
    const bool before = call.n > call.k;
    known.k = before ? kNopeDim : kLatentRank;
    known.n = before ? kLatentRank : kValueDim;
  } else if (call.op == Op::mla_prefill) {
    known.head_dim = call.sparse_tokens > 0 ? kSparseHeadDim : kPrefillHeadDim;
  }
  return known;
}

double streamed_bytes(const OpCall& call) {
  const double element = bytes_per_element(call.weights);
  const double cached = call.sequences * call.context_tokens;
  switch (call.op) {
    case Op::gemm:
    case Op::lm_head:
      return call.n * call.k * element;
    case Op::moe_experts:
      return call.active_experts * 3 * call.hidden * call.inter * element;
    case Op::attention_decode:
      return 2 * cached * call.kv_heads * call.head_dim * element;
    case Op::mla_decode:
      return cached * call.head_dim * element;
    default:
      return 0;
  }
}

KnotGrid::Point FittedLaw::point(const OpCall& call) const {
  KnotGrid::Point x{};
  for (std::size_t i = 0; i < features.size(); ++i) x[i] = std::log(value_of(features[i], call));
  return x;
}

Estimate FittedLaw::seconds(const OpCall& call, const DeviceSpec& device) const {
  constexpr double kOnTheEdge = 1e-9;     // a shape at the edge is not outside for its last bit
  constexpr double kLeastOutside = 0.25;  // nobody knows better just beyond a table
  constexpr double kPerLog = 0.1;
  const KnotGrid::Answer answer = ln_utilisation.at(point(call));
  double time = reference_seconds(call, device) * std::exp(-answer.value);
  if (key.op == Op::mla_bmm || key.op == Op::mla_prefill) {
    const double known = reference_seconds(as_tabulated(call), device);
    const std::vector<double>& grid = ln_utilisation.values();
    const double best = *std::max_element(grid.begin(), grid.end());
    time = known * std::exp(-answer.value) +
           (reference_seconds(call, device) - known) * std::exp(-best);
  }
  time = std::max(floor_s, time);
  if (answer.beyond <= kOnTheEdge) return Estimate::within(time, band, Source::interpolated);
  const double wider = std::max(2 * band, kLeastOutside) + kPerLog * answer.beyond;
  Estimate estimate = Estimate::within(time, wider, Source::extrapolated);
  estimate.low = time / (1 + wider);  // stays positive however far out
  return estimate;
}

}  // namespace plateau
