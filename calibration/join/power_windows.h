// Power samples that belong to one steady or idle stretch of the server's log.
//
// The meter of nvidia-smi reads the mean of the second before (models/power.h), so a sample counts
// from kMeter after a stretch begins; where the server's clock has whole seconds, one more is left
// out. Each GPU's watts of a stretch are the mean over its samples. Samples in no stretch are
// counted as changing (prefill, ramp, drain) or outside of the log.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/join/common_clock.h"
#include "calibration/join/windows.h"

namespace plateau::join {

inline constexpr double kMeter = 1;  // s

struct PowerWindow {
  Window window;
  int gpu = 0;
  double watts = 0;
  int samples = 0;
  int power_file = 0;
  std::int64_t power_line = 0;  // first sample's
};

struct PowerSplit {
  std::vector<PowerWindow> steady;  // a window and GPU each
  std::vector<PowerWindow> idle;
  int in_steady = 0;
  int in_idle = 0;
  int changing = 0;
  int outside = 0;
  int gpus = 0;
};

// Is there a power log at all?
bool has_power(const imports::Measurement& measurement);

// Throws InputError: a power log without times, or that does not meet the server's log in time.
PowerSplit split_power(const imports::Measurement& measurement,
                       const imports::DecodeSamples& samples, const ClockOptions& options);

}  // namespace plateau::join
