#include "calibration/scaled_profile.h"

#include <cmath>
#include <utility>

#include "calibration/input_error.h"
#include "models/power_fallback.h"

namespace plateau {

namespace {

constexpr double kTimeBand = 0.15;

void guess_power(ProfileMeta& own) {
  const PowerFallback guess = power_fallback(own.device, own.idle_w);
  own.power = guess.law;
  own.power_states = guess.states;
  own.warnings.push_back("no watts were measured on " + own.device.name +
                         ": they are shares of its " +
                         std::to_string(std::lround(own.device.power_limit_w)) +
                         " W limit as on other boards, within 20 %");
}

}  // namespace

ProfileMeta scaled_meta(ProfileMeta own, const ProfileMeta& base) {
  if (base.kind != "fitted") {
    throw InputError(Problem{"", 0, 0, "scaled_from",
                             "profile " + own.scaled_from + " is " + base.kind,
                             "only a fitted profile's laws can be scaled"});
  }
  const double bandwidth = own.device.memory_bandwidth / base.device.memory_bandwidth;
  if (own.launch.graph_gap.value == 0) own.launch = base.launch;
  own.weight_stream = base.weight_stream * bandwidth;
  own.weight_stream.source = Source::extrapolated;
  own.small_kernel = base.small_kernel;
  own.interconnect = base.interconnect;
  own.time_band = kTimeBand;
  own.provenance.tables = base.provenance.tables;
  own.warnings.push_back("kernel times of " + own.device.name + " are scaled from " +
                         own.scaled_from + " by its memory bandwidth and peak FLOP/s");
  if (!own.power_known) guess_power(own);
  return own;
}

}  // namespace plateau
