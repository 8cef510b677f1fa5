// Where an operation stands in the space its measurements are interpolated in.
//
// Features are scaled natural logarithms, chosen so that shapes at equal distance behave alike:
// attention by (sequences x KV heads), the unit of work its blocks are launched over, before
// sequences alone; experts by the distinct ones touched and the rows each gets. The reference is
// the roofline time on the device's peaks plus the operation's launch floor.
#pragma once

#include <array>

#include "models/device_spec.h"
#include "models/op.h"

namespace plateau {

inline constexpr std::size_t kMaxFeatures = 5;

struct OpPoint {
  std::array<double, kMaxFeatures> features{};
  std::size_t dims = 0;
  double reference_s = 0;
};

// `floor_s`: latency of the operation's kernels with almost nothing to do.
OpPoint op_point(const OpCall& call, const DeviceSpec& device, double floor_s);

}  // namespace plateau
