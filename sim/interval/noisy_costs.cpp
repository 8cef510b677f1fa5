#include "sim/interval/noisy_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/random.h"

namespace plateau {

namespace {

constexpr double kP95 = 1.6448536269514722;  // of a standard normal
constexpr double kLeastRatio = 0.05;         // of a bound that reaches 0

}  // namespace

Estimate shifted(const Estimate& estimate, double z) {
  if (!(estimate.value > 0)) return estimate;
  const double bound = z >= 0 ? estimate.high : estimate.low;
  const double ratio = std::max(bound / estimate.value, kLeastRatio);
  return estimate * std::pow(ratio, std::abs(z) / kP95);
}

NoisyCosts::NoisyCosts(std::shared_ptr<const Profile> profile, std::uint64_t seed,
                       std::uint32_t replica)
    : profile_(std::move(profile)), launch_(profile_->launch()), power_(profile_->power_states()) {
  const RandomStream time(seed, "interval/time");
  const RandomStream watts(seed, "interval/watts");
  for (std::size_t op = 0; op < kOps; ++op) {
    Random time_random = time.at(op, replica);
    Random watts_random = watts.at(op, replica);
    time_z_[op] = normal(time_random);
    watts_z_[op] = normal(watts_random);
  }
  const RandomStream constants(seed, "interval/constants");
  std::uint64_t index = 0;
  for (Estimate* estimate :
       {&launch_.graph_gap, &launch_.graph_layer, &launch_.graph_step, &launch_.eager_gap,
        &launch_.eager_layer, &launch_.eager_kernel_launch, &launch_.eager_layer_host,
        &launch_.eager_step, &launch_.host_step, &launch_.host_request, &launch_.host_slow,
        &power_.idle, &power_.wait, &power_.host_gap}) {
    Random random = constants.at(index++, replica);
    *estimate = shifted(*estimate, normal(random));
  }
}

OpCost NoisyCosts::cost(const OpCall& call) const {
  const OpCost cost = profile_->cost(call);
  const auto op = static_cast<std::size_t>(call.op);
  return {shifted(cost.seconds, time_z_[op]), shifted(cost.watts, watts_z_[op])};
}

}  // namespace plateau
