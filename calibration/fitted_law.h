// The one form in which the time of every operation is fitted:
//
//   t = max(floor, reference(call) / u(x))        reference = hypot(FLOPs / peak, bytes /
//   bandwidth)
//
// u is the share of the device's roofline that the kernel reaches: a KnotGrid of ln u over the
// logarithms of one to three features x of the shape. FLOPs and bytes are work_of(call), peaks are
// DeviceSpec's; the two limits are added in quadrature because a kernel near the ridge is held up
// by both, and because a surface fitted to a ratio without a kink needs fewer knots. `floor` is the
// shortest time of any row fitted.
//
// MLA kernels were tabulated for one model's head widths only (DeepSeek's); for another model's the
// law prices the tabulated widths and adds the difference of the references at the best utilisation
// of the grid: a wider head costs work, not a second launch.
//
// Inside the knots the answer is interpolated, with the 90th percentile of the fit's relative
// residual as band. Outside, the edge's utilisation is held, so that time follows the work; the
// answer is extrapolated and its band grows by 10 % for every factor e beyond.
//
// Wrong where a kernel changes its mind between knots (tile and wave quantisation, a library's
// choice of another kernel): residuals.csv of each profile says how much.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/knot_grid.h"
#include "models/device_spec.h"
#include "models/op.h"

namespace plateau {

// One number of a call's shape that a law may depend on.
enum class Feature : std::uint8_t {
  m,
  n,
  k,
  sequences,
  new_tokens,
  context_tokens,
  query_heads,
  kv_blocks,     // sequences * kv_heads: what decode attention is launched over
  query_tokens,  // sequences * new_tokens
  pairs,         // sequences * new_tokens * context_tokens
  query_blocks,  // sequences * query_heads: what prefill attention is launched over
  group,         // query heads per KV head
  active_experts,
  rows_per_expert,     // rows over active experts
  rows_max_over_mean,  // hottest expert over the mean of all: kernels that pad to the hottest
  expert_bytes         // weights of one expert
};

const char* name_of(Feature feature);
double value_of(Feature feature, const OpCall& call);

// Which calls a law speaks for. geometry by operation, 0 where unused:
//   attention_decode, attention_prefill  {head_dim, 1 if windowed}
//   mla_decode, mla_prefill              {1 if sparse}
//   mla_bmm                              {0 before, 1 after the core}
//   indexer_logits, indexer_topk         {1 if prefill}
//   moe_experts                          {hidden, inter, experts, top_k}; all 0: any geometry
struct LawKey {
  Op op = Op::gemm;
  DType dtype = DType::bf16;
  std::array<int, 4> geometry{};

  bool operator<(const LawKey& other) const {
    return std::tie(op, dtype, geometry) < std::tie(other.op, other.dtype, other.geometry);
  }
  bool operator==(const LawKey& other) const {
    return op == other.op && dtype == other.dtype && geometry == other.geometry;
  }
};

LawKey key_of(const OpCall& call);

// The roofline time that utilisation is measured against.
double reference_seconds(const OpCall& call, const DeviceSpec& device);

// The call with the head widths that its kernel table was collected with.
OpCall as_tabulated(const OpCall& call);

// Bytes that must come from memory because no cache holds them from one step to the next: a layer's
// weights, and at decode its KV. The benchmark loops of the tables reuse one set, which for small
// shapes stays in the L2 cache (up to 128 MB); a model of many layers finds its weights cold.
double streamed_bytes(const OpCall& call);

struct FittedLaw {
  LawKey key;
  std::vector<Feature> features;
  KnotGrid ln_utilisation;
  double floor_s = 0;
  double band = 0;     // relative
  int rows = 0;        // fitted
  std::string kernel;  // what the table calls it

  KnotGrid::Point point(const OpCall& call) const;
  Estimate seconds(const OpCall& call, const DeviceSpec& device) const;
};

// laws.csv: op,dtype,geometry,features,knots,utilisation_pct,floor_us,band,rows,kernel
// Lists inside a cell are separated by blanks, axes by `|`, geometry by `/`. Sorted by key.
std::string write_laws(const std::vector<FittedLaw>& laws);
std::vector<FittedLaw> read_laws(const std::string& path);

}  // namespace plateau
