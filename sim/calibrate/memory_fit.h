// Memory of one GPU that the engine holds and its pool rule does not know (models/kv_pool.h), from
// the start-up lines of SGLang logs.
//
//   unexplained = free_after - free_before (1 - fraction) - (tokens + page / 2) cell
//
// free_after: after the weights; without that line free_before less the logged weights. The engine
// floors the pool to a page, so half a page is given back. One standard error of one log:
//
//   error^2 = r^2 (1 + (1 - fraction)^2) + (page cell)^2 / 12 + s^2
//
// r = 0.01 GiB / sqrt(12), two printed decimals (without the line after the weights: r^2 (1 +
// fraction^2)); a page, uniform; s: standard deviation of free_after over the ranks that print,
// because which of them binds is open at another setting. Several logs: their mean, and the larger
// of what their errors and what their spread say of it; those that differ by more than three errors
// are told.
//
// One log cannot tell this memory from another fraction than the one stated: logs at two settings
// can. Where one rank of several prints, its distance to the fullest GPU is in the value (0.09 GiB
// in the one public log that tells both), which does no harm on the same machine. Wrong for
// another machine: the public logs of one model on one kind of card give 0 and 3.8 GiB.
#pragma once

#include "calibration/import/measurement.h"
#include "sim/calibrate/calibration.h"
#include "sim/deployment/deployment.h"

namespace plateau {

// Adds Correction::unexplained_memory to the parameters, fitted or held.
void fit_memory(const imports::Measurement& measurement, const Deployment& deployment, double base,
                CalibrationResult* result);

}  // namespace plateau
