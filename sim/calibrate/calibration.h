// `plateau calibrate --measured`: what a deployment's own logs say about its profile.
//
//   logs -> steady windows (calibration/import/decode_samples.h) -> base prices of each step
//        -> fit of the identifiable corrections (calibration/fit/identifiable.h) -> a profile
//
// Corrections hold for every step alike; none belongs to a run, a batch or a file. What the samples
// cannot tell stays at the base, and the result says so. The error that matters is that of
// cross-validation: each file (of one file, each of four blocks) predicted from the others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/corrections.h"
#include "calibration/import/measurement.h"
#include "sim/scenario/scenario.h"

namespace plateau {

struct CalibrationRequest {
  std::string data_dir;
  std::map<std::string, double> offsets;  // file -> seconds to add to its clock
  std::optional<double> utc_offset_h;     // of the local times: local = UTC + this
};

struct Parameter {
  Correction correction = Correction::kernel_time;
  double value = 0;
  double error = 0;  // one standard error; 0 when held
  double base = 0;
  int samples = 0;       // that identify it
  std::string held_why;  // "": fitted
};

// One measured value and what base and fit say about it.
struct SamplePoint {
  const char* quantity = "";  // "decode_step_ms", "prefill_ms", "gpu_w"
  int file = 0;               // of CalibrationResult::files
  std::int64_t line = 0;
  double running = 0;
  double context = 0;  // tokens of one request
  double measured = 0;
  double base = 0;
  double fitted = 0;
};

struct Fold {
  std::string left_out;
  int samples = 0;
  double mape_pct = 0;
};

struct FitQuality {
  const char* name = "";
  int samples = 0;
  double base_mape_pct = 0;    // before
  double fitted_mape_pct = 0;  // after, on the samples it was fitted to
  double worst_pct = 0;
  std::vector<Fold> folds;
  std::optional<double> cross_mape_pct;  // over all samples, each predicted from the other folds
};

struct UsedFile {
  std::string file;
  std::string kind;
  std::string engine;
  std::string era;
  std::string span;       // "2026-11-30 10:00:00 to 10:05:00", as the file tells its time
  std::string last_date;  // "2026-11-30"; "": not told
  int used = 0;           // lines that gave a sample
  std::int64_t first_line = 0;
  std::int64_t last_line = 0;
  std::map<std::string, int> dropped;  // reason -> lines
};

struct CalibrationResult {
  std::string scenario;
  std::string question;
  std::string base;  // profile
  std::vector<Parameter> parameters;
  std::vector<FitQuality> quantities;
  std::vector<SamplePoint> points;
  std::vector<UsedFile> files;
  std::vector<std::string> contradictions;
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> engine_keys;  // of the scenario, as logged
  std::optional<double> unexplained_gib;  // KV memory per GPU that the engine's rule lacks
  std::string power_text;                 // which power samples counted; "": no power log
  std::string engine;                     // of the logs
  std::string date;                       // of the last line
  std::string base_digest;
  std::string licence;

  Corrections corrections() const;
  const Parameter* find(Correction correction) const;
};

// Throws InputError: no line that tells anything, mixed engines, clocks that do not meet.
CalibrationResult calibrate(const Scenario& scenario, const imports::Measurement& measurement,
                            const CalibrationRequest& request);

std::string calibration_text(const CalibrationResult& result);
std::string calibration_json(const CalibrationResult& result);
// Residuals of every quantity against running requests, before and after; self-contained.
std::string calibration_svg(const CalibrationResult& result);

// meta.yaml of the corrected profile.
std::string corrected_meta_yaml(const CalibrationResult& result, const std::string& base);

}  // namespace plateau
