// Where the logs contradict the scenario, the memory arithmetic or themselves. Nothing of this is
// fitted: it is told, with its size.
#pragma once

#include "calibration/import/decode_samples.h"
#include "calibration/import/measurement.h"
#include "sim/calibrate/calibration.h"
#include "sim/deployment/deployment.h"

namespace plateau {

// Pool, max_running_requests and chunk of the log against the scenario; the pool against the memory
// rule. The logged pool also becomes keys for a scenario (CalibrationResult::engine_keys).
void check_engine(const imports::Measurement& measurement, const Deployment& deployment,
                  CalibrationResult* result);

// Step times against the time between lines, and against a benchmark's throughput.
void check_throughput(const imports::Measurement& measurement,
                      const imports::DecodeSamples& samples, CalibrationResult* result);

}  // namespace plateau
