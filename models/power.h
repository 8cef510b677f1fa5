// Watts of one board while an operation runs, from what the operation achieves.
//
//   P = busy + (memory - busy) * min(1, bytes/s / copy rate) + sum over dtypes (tensor - busy) *
//   min(1, FLOP/s / GEMM rate)
//
// clipped to the board's limit. `busy` is the floor while any kernel runs; `memory` is a streaming
// copy and `tensor` a large GEMM of that type, each with the rate it reached when its watts were
// read. The form interpolates in utilisation, not in shape: on B200 and H200 kernels longer than
// 0.3 ms it is within 13-17 % (specs of the energy roofline in docs/models.md), mostly through
// `busy`. It is wrong for kernels that fit in cache and for power virus instruction mixes.
#pragma once

#include "models/estimate.h"
#include "models/op.h"

namespace plateau {

struct PowerLaw {
  Estimate busy_w;
  Estimate memory_w;
  double memory_rate = 0;  // bytes/s, read + written
  Estimate tensor_w;
  double bf16_rate =
      0;  // FLOP/s of the GEMM that drew tensor_w; other types scale with DeviceSpec::peak_flops
  double limit_w = 0;
};

// Watts while `work` takes `seconds`; `tensor_rate` is the FLOP/s at which this operation's type
// draws tensor_w.
Estimate watts_of(const PowerLaw& law, const Work& work, double seconds, double tensor_rate);

}  // namespace plateau
