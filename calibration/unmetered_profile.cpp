#include "calibration/unmetered_profile.h"

#include <cmath>
#include <utility>

namespace plateau {

UnmeteredProfile::UnmeteredProfile(std::unique_ptr<Profile> times, std::optional<double> idle_w)
    : times_(std::move(times)),
      power_(power_fallback(times_->device(), idle_w, times_->device().name)),
      warnings_(times_->warnings()) {
  const DeviceSpec& gpu = times_->device();
  warnings_.push_back("watts of " + gpu.name + " are shares of its " +
                      std::to_string(std::lround(gpu.power_limit_w)) +
                      " W limit as on other boards, not measured: within 20 %");
}

OpCost UnmeteredProfile::cost(const OpCall& call) const {
  OpCost cost = times_->cost(call);
  if (call.op == Op::all_reduce || call.op == Op::all_gather) {
    cost.watts = power_.states.wait;
    return cost;
  }
  const DeviceSpec& gpu = times_->device();
  const double share = gpu.peak_flops(call.weights) / gpu.bf16_flops;
  cost.watts =
      watts_of(power_.law, work_of(call), cost.seconds.value, power_.law.bf16_rate * share);
  return cost;
}

}  // namespace plateau
