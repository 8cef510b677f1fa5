#include "calibration/scaled_profile.h"

#include <utility>

#include "calibration/input_error.h"

namespace plateau {

namespace {

constexpr double kTimeBand = 0.15;

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
  return own;
}

}  // namespace plateau
