// Prefill steps of the logs beside their base prices.
#pragma once

#include <vector>

#include "calibration/import/prefill_samples.h"
#include "sim/calibrate/stage.h"

namespace plateau {

Stage prefill_stage(const std::vector<imports::PrefillSample>& samples, Deployment& deployment);

}  // namespace plateau
