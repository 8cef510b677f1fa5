// Watts of steady and idle stretches beside what the base profile says of them.
#pragma once

#include "calibration/join/power_windows.h"
#include "sim/calibrate/stage.h"

namespace plateau {

// `times`: what the time stages found; a step's energy follows its corrected times.
Stage power_stage(const std::vector<join::PowerWindow>& windows, Deployment& deployment,
                  const CorrectionValues& times);
Stage idle_stage(const std::vector<join::PowerWindow>& windows);

}  // namespace plateau
