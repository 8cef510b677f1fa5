// Decode steps of the logs beside their base prices.
#pragma once

#include "calibration/import/decode_samples.h"
#include "sim/calibrate/stage.h"

namespace plateau {

// At most kMostDecodeSamples, spread evenly, of those with a price; the result's notes say what was
// assumed (no held tokens in the log) and left out.
inline constexpr std::size_t kMostDecodeSamples = 4000;
Stage decode_stage(const imports::DecodeSamples& samples, Deployment& deployment,
                   CalibrationResult* result);

// Does the scheduler hide the host's work behind the GPU?
bool overlaps(const Deployment& deployment);

}  // namespace plateau
