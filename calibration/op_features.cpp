#include "calibration/op_features.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plateau {

namespace {

double ln(double value) { return std::log(std::max(value, 1e-9)); }

}  // namespace

OpPoint op_point(const OpCall& call, const DeviceSpec& device, double floor_s) {
  OpPoint point;
  const auto set = [&](std::initializer_list<double> features) {
    std::copy(features.begin(), features.end(), point.features.begin());
    point.dims = features.size();
  };
  switch (call.op) {
    case Op::embedding:
    case Op::rms_norm:
    case Op::residual_add:
    case Op::activation:
    case Op::rope_kv_write:
      set({ln(call.m), ln(call.k)});
      break;
    case Op::gemm:
    case Op::lm_head:
      set({0.5 * ln(call.m), ln(call.n), ln(call.k)});
      break;
    case Op::attention_decode:
      set({ln(call.sequences * call.kv_heads), ln(call.context_tokens),
           ln(call.query_heads / call.kv_heads), 0.5 * ln(call.sequences)});
      break;
    case Op::attention_prefill:
      set({ln(call.sequences), ln(call.new_tokens), ln(call.query_heads),
           ln(call.context_tokens / call.new_tokens)});
      break;
    case Op::moe_dispatch:
      set({ln(call.m), ln(call.experts), ln(call.hidden)});
      break;
    case Op::moe_experts: {
      const double rows = call.m * call.top_k;
      // Hottest expert's rows over the mean of the active ones: what is left of skew once the
      // active are counted.
      const double skew =
          std::max(1.0, call.rows_max_over_mean * call.active_experts / call.experts);
      set({ln(call.active_experts), 0.7 * ln(rows / call.active_experts), ln(call.hidden),
           ln(call.inter), 0.3 * ln(skew)});
      break;
    }
    case Op::moe_combine:
      set({ln(call.m), ln(call.top_k), ln(call.k)});
      break;
    default:
      throw std::invalid_argument(std::string("no measured features for ") + name_of(call.op));
  }
  const Work work = work_of(call);
  point.reference_s = floor_s + std::max(work.bytes / device.memory_bandwidth,
                                         work.flops / device.peak_flops(call.weights));
  return point;
}

}  // namespace plateau
