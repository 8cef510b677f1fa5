// What-if scales: a deployment whose parts are faster or slower than the measured ones, to ask what
// each of them is worth. A decorator of KernelCosts, so that whoever prices steps needs to know
// nothing of it; every scale at 1 passes the measured cost through to the bit.
//
//   kernels       t = r + x,  r = min(t, max(bytes / bandwidth, FLOP / tensor rate)), x = the rest
//                 t' = time_scale * (r * max(m / memory_bandwidth, a / tensor_rate) / max(m, a)
//                                    + kernel_floor * x)      m, a: the two roofs (models/op.h)
//   collectives   t' = all_reduce * (l + (t - l) / bus_bandwidth)     l: the same call with 1 KiB
//   launch, host  every constant of the LaunchLaw is multiplied
//   experts       the distinct experts a batch touches are multiplied, between top_k and all
//
// Watts while an operation runs stay what they are. Bands scale with the value, sources stay: a
// report that holds such a scale says so in its warnings. Wrong when: a faster part would contend
// with another for memory or power; the roof of a kernel whose data sit in cache is not its bytes.
#pragma once

#include <vector>

#include "models/kernel_costs.h"
#include "models/step_ops.h"

namespace plateau {

struct WhatIf {
  double attention_time = 1;
  double dense_gemm_time = 1;
  double moe_time = 1;
  double norm_etc_time = 1;
  double lm_head_time = 1;
  double all_reduce = 1;
  double bus_bandwidth = 1;
  double memory_bandwidth = 1;
  double tensor_rate = 1;
  double kernel_floor = 1;
  double launch = 1;
  double host = 1;
  double active_experts = 1;

  bool real() const;  // every scale is 1
};

// The scales by the name they have in a scenario, under `hypothetical:`.
struct WhatIfKey {
  const char* key;
  double WhatIf::*scale;
  double least;         // smallest value that has a meaning
  const char* meaning;  // "an all-reduce takes this many times its measured time"
};
const std::vector<WhatIfKey>& what_if_keys();

// The load of a batch when it touches more or fewer experts.
ExpertLoad what_if_load(const WhatIf& what_if, const ExpertLoad& load, int experts, int top_k);

class WhatIfCosts : public KernelCosts {
 public:
  WhatIfCosts(const WhatIf& what_if, const KernelCosts& measured);  // `measured` must outlive this

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return measured_->device(); }
  const LaunchLaw& launch() const override { return launch_; }
  const PowerStates& power_states() const override { return measured_->power_states(); }
  const ClockLaw& clock() const override { return measured_->clock(); }
  double prefill_time() const override { return measured_->prefill_time(); }

 private:
  double collective_factor(const OpCall& call, double seconds) const;
  double kernel_factor(const OpCall& call, double seconds) const;

  WhatIf what_if_;
  const KernelCosts* measured_;
  LaunchLaw launch_;
  bool roofs_change_ = false;
};

}  // namespace plateau
