#include "sim/calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibration/corrected_profile.h"
#include "calibration/import/decode_samples.h"
#include "calibration/import/import.h"
#include "calibration/input_error.h"
#include "calibration/join/power_windows.h"
#include "sim/calibrate/contradictions.h"
#include "sim/calibrate/decode_stage.h"
#include "sim/calibrate/memory_fit.h"
#include "sim/calibrate/power_stage.h"
#include "sim/calibrate/prefill_stage.h"
#include "sim/calibrate/stage.h"

namespace plateau {

namespace {

using imports::DecodeSamples;
using imports::FileReport;
using imports::Measurement;

std::vector<UsedFile> files_of(const Measurement& measurement, const DecodeSamples& samples) {
  std::vector<UsedFile> files;
  for (const FileReport& report : measurement.files) {
    UsedFile file;
    file.file = report.file;
    file.kind = report.kind;
    file.engine = report.engine;
    file.era = report.era;
    file.span = imports::span_text(report);
    file.last_date = imports::last_date(report);
    files.push_back(std::move(file));
  }
  for (const imports::DecodeSample& sample : samples.samples) {
    UsedFile& file = files[static_cast<std::size_t>(sample.file)];
    ++file.used;
    file.first_line = file.first_line == 0 ? sample.line : std::min(file.first_line, sample.line);
    file.last_line = std::max(file.last_line, sample.line);
  }
  for (const imports::DroppedLine& line : samples.dropped) {
    ++files[static_cast<std::size_t>(line.file)].dropped[name_of(line.reason)];
  }
  return files;
}

// Whose steps these are; two engines' steps have no common law.
std::string engine_of(const std::vector<UsedFile>& files) {
  const UsedFile* first = nullptr;
  for (const UsedFile& file : files) {
    if (file.engine.empty()) continue;
    if (first != nullptr && file.engine != first->engine) {
      throw InputError(
          Problem{file.file, 0, 0, "",
                  "is of " + file.engine + ", but " + first->file + " is of " + first->engine,
                  "calibrate each engine by itself"});
    }
    if (first == nullptr) first = &file;
  }
  return first == nullptr ? "" : first->engine + (first->era.empty() ? "" : " " + first->era);
}

// Nothing to fit: what the files held instead.
[[noreturn]] void refuse(const std::vector<UsedFile>& files, const DecodeSamples& samples) {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string why;
    for (const auto& [reason, count] : files[i].dropped)
      why += fmt::format("{}{} lines: {}", why.empty() ? "" : "; ", count, reason);
    int line = 0;
    for (const imports::DroppedLine& dropped : samples.dropped) {
      if (dropped.file == static_cast<int>(i) && line == 0) line = static_cast<int>(dropped.line);
    }
    problems.push_back(Problem{
        files[i].file, line, 0, "",
        why.empty() ? "is a " + files[i].kind + " without a decode step"
                    : "no decode line tells the time of a step (" + why + ")",
        "give a server log with several decode lines of one unchanged batch in a row: a longer "
        "output, or a smaller --decode-log-interval"});
  }
  throw InputError(std::move(problems));
}

void hold_rest(const Deployment& deployment, const CorrectionValues& base,
               CalibrationResult* result) {
  const auto hold = [&](Correction c, const char* why) {
    if (result->find(c) == nullptr) result->parameters.push_back({c, base[c], 0, base[c], 0, why});
  };
  if (deployment.scenario().parallel.tp == 1)
    hold(Correction::collective_time, "one GPU: there are no collectives");
  for (const Correction c : {Correction::host_step, Correction::host_request}) {
    hold(c, "the overlap schedule hides the host's work behind the GPU");
  }
  hold(Correction::prefill_time, "no prefill times in the data");
  hold(Correction::power_idle, "no power sample while the log is silent");
  for (const Correction c : {Correction::power_wait, Correction::power_gain})
    hold(c, "no power sample in steady decode");
  std::stable_sort(
      result->parameters.begin(), result->parameters.end(),
      [](const Parameter& a, const Parameter& b) { return a.correction < b.correction; });
}

void fit_power(const Measurement& measurement, const DecodeSamples& samples,
               const CalibrationRequest& request, Deployment& deployment, const Base& base,
               CorrectionValues* values, CalibrationResult* result) {
  if (!join::has_power(measurement)) return;
  const join::PowerSplit split =
      join::split_power(measurement, samples, {request.offsets, request.utc_offset_h});
  result->power_text = fmt::format(
      "power samples: {} in steady decode, {} idle, {} with prefill or a changing batch, {} "
      "outside "
      "of the log",
      split.in_steady, split.in_idle, split.changing, split.outside);
  const int gpus = deployment.scenario().hardware.count;
  if (split.gpus > gpus) {
    result->contradictions.push_back(
        fmt::format("the power log has {} GPUs, the scenario {}: the watts of those that do not "
                    "serve would count, so none do",
                    split.gpus, gpus));
    return;
  }
  fit_stage(power_stage(split.steady, deployment, *values), result->files, base, values, result);
  fit_stage(idle_stage(split.idle), result->files, base, values, result);
}

}  // namespace

const Parameter* CalibrationResult::find(Correction correction) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& p) { return p.correction == correction; });
  return found == parameters.end() ? nullptr : &*found;
}

Corrections CalibrationResult::corrections() const {
  constexpr double kP95 = 1.645;
  Corrections corrections;
  for (const Parameter& p : parameters) {
    if (!p.held_why.empty()) continue;
    corrections[p.correction] = Estimate{p.value, std::max(0.0, p.value - kP95 * p.error),
                                         p.value + kP95 * p.error, Source::measured};
  }
  return corrections;
}

CalibrationResult calibrate(const Scenario& scenario, const Measurement& measurement,
                            const CalibrationRequest& request) {
  CalibrationResult result;
  result.scenario = scenario.file;
  result.question = scenario.question;
  result.base = scenario.calibration.profile;
  const DecodeSamples samples = imports::decode_step_samples(measurement);
  result.files = files_of(measurement, samples);
  result.engine = engine_of(result.files);
  if (samples.samples.empty()) refuse(result.files, samples);
  Deployment deployment(scenario, request.data_dir);
  const Provenance& provenance = deployment.profile().provenance();
  result.licence = provenance.licence;
  result.base_digest = digest_of_profile(
      deployment.profile(), profile_folder(request.data_dir, scenario.calibration.profile));
  for (const UsedFile& file : result.files) result.date = std::max(result.date, file.last_date);
  const Base base = base_of(deployment.profile());
  CorrectionValues values = base.values;
  check_engine(measurement, deployment, &result);
  check_throughput(measurement, samples, &result);
  fit_stage(decode_stage(samples, deployment, &result), result.files, base, &values, &result);
  fit_stage(prefill_stage(imports::prefill_samples(measurement), deployment), result.files, base,
            &values, &result);
  fit_power(measurement, samples, request, deployment, base, &values, &result);
  fit_memory(measurement, deployment, base.values[Correction::unexplained_memory], &result);
  hold_rest(deployment, base.values, &result);
  return result;
}

}  // namespace plateau
