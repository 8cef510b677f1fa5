#include "sim/interval/noisy_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/random.h"

namespace plateau {

namespace {

constexpr double kP95 = 1.6448536269514722;  // of a standard normal
constexpr double kLeastRatio = 0.05;         // of a bound that reaches 0

// A band's part that every kind shares and the kind's own, as factors around 1: their logarithms
// add in quadrature to the band's.
std::pair<Estimate, Estimate> watts_parts(const Estimate& watts, double board_band) {
  if (!(watts.value > 0)) return {{1, 1, 1, watts.source}, {1, 1, 1, watts.source}};
  const auto rest = [&](double bound, double shared) {
    const double whole = std::log(std::max(bound / watts.value, kLeastRatio));
    const double own = std::sqrt(std::max(0.0, whole * whole - shared * shared));
    return std::exp(whole < 0 ? -own : own);
  };
  const double high = std::log1p(board_band);
  const double low = std::log(std::max(1 - board_band, kLeastRatio));
  return {{1, rest(watts.low, low), rest(watts.high, high), watts.source},
          {1, std::exp(low), std::exp(high), watts.source}};
}

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
  Random board_random = RandomStream(seed, "interval/board").at(0, replica);
  board_z_ = normal(board_random);
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
  const auto [own, board] = watts_parts(cost.watts, profile_->board_band());
  return {shifted(cost.seconds, time_z_[op]),
          cost.watts * (shifted(own, watts_z_[op]).value * shifted(board, board_z_).value)};
}

}  // namespace plateau
