// What a GPU is on paper: the ceilings that rooflines, utilisation and sanity bounds are measured
// against.
#pragma once

#include <string>

#include "models/model_spec.h"

namespace plateau {

struct DeviceSpec {
  std::string name;             // "rtx-pro-6000-server", "h200-sxm", "b200-sxm"
  double memory_bytes = 0;      // total, as the driver reports it
  double memory_bandwidth = 0;  // bytes/s, peak
  double bf16_flops = 0;        // dense, FLOP/s
  double fp8_flops = 0;
  double fp4_flops = 0;      // 0: no FP4 tensor cores
  double power_limit_w = 0;  // board, default
  double sm_clock_mhz = 0;   // largest
  int sm_count = 0;
  int compute_capability_major = 0;

  // Dense tensor peak for a GEMM whose weights are stored as `dtype` (a type without its own tensor
  // path runs as bf16), FLOP/s.
  double peak_flops(DType dtype) const;
};

}  // namespace plateau
