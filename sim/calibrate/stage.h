// One kind of measurement and the corrections it may identify: fitted, scored, cross-validated.
//
// Residual: ln(predicted / measured), so that twice too slow weighs as much as twice too fast.
// Cross-validation leaves out one file at a time, or, when one file holds all samples, each of four
// contiguous blocks of it, and repeats the whole fit, choice of what is identified included.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/calibrate/calibration.h"
#include "sim/calibrate/step_terms.h"

namespace plateau {

struct StageSample {
  int file = 0;
  std::int64_t line = 0;
  double running = 0;
  double context = 0;
  double measured = 0;
};

struct Stage {
  const char* quantity = "";
  double to_report = 1;  // measured x this = the quantity's unit
  double noise = 0;      // relative, of one sample at best
  std::vector<Correction> unknowns;
  std::vector<StageSample> samples;
  std::function<double(std::size_t sample, const CorrectionValues& values)> predict;
};

// What the base says of each correction, and how far it may plausibly be off (one standard
// deviation).
struct Base {
  CorrectionValues values;
  CorrectionValues bands;
};
Base base_of(const Profile& profile);

// Fits the stage's unknowns; `values` goes in with what earlier stages found and comes out with
// this one's. The result's parameters, quantities, points and notes grow.
void fit_stage(const Stage& stage, const std::vector<UsedFile>& files, const Base& base,
               CorrectionValues* values, CalibrationResult* result);

}  // namespace plateau
