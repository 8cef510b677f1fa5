#include "sim/calibrate/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/fit/identifiable.h"

namespace plateau {

namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::size_t kLeastPerBlock = 2;
constexpr double kScale = 10;  // a factor on all of a kind of step is within this, either way
constexpr double kShape = 3;   // one on a part of the step

bool scales_all(Correction c) {
  return c == Correction::kernel_time || c == Correction::collective_time ||
         c == Correction::prefill_time;
}

using Indices = std::vector<std::size_t>;

Unknown unknown_of(Correction correction, const Base& base, double from) {
  const CorrectionKey& key = key_of(correction);
  const double band = base.bands[correction];
  const double most = scales_all(correction) ? kScale : kShape;
  if (!key.dimension) return {key.key, from, band, from / most, from * most};
  return {key.key, from, band, 0, from + 1000 * band};
}

Identified fit_on(const Stage& stage, const Indices& samples, const Base& base,
                  const CorrectionValues& from) {
  std::vector<Unknown> unknowns;
  for (const Correction c : stage.unknowns) unknowns.push_back(unknown_of(c, base, from[c]));
  return fit_identifiable(
      unknowns,
      [&](const std::vector<double>& x) {
        CorrectionValues values = from;
        for (std::size_t i = 0; i < x.size(); ++i) values[stage.unknowns[i]] = x[i];
        std::vector<double> residuals;
        residuals.reserve(samples.size());
        for (const std::size_t i : samples) {
          residuals.push_back(std::log(stage.predict(i, values) / stage.samples[i].measured));
        }
        return residuals;
      },
      stage.noise);
}

CorrectionValues with(const Stage& stage, CorrectionValues values, const Identified& fit) {
  for (std::size_t i = 0; i < stage.unknowns.size(); ++i) values[stage.unknowns[i]] = fit.values[i];
  return values;
}

double error_pct(const Stage& stage, std::size_t i, const CorrectionValues& values) {
  return 100 * std::abs(stage.predict(i, values) / stage.samples[i].measured - 1);
}

double mean_error(const Stage& stage, const Indices& samples, const CorrectionValues& values) {
  double sum = 0;
  for (const std::size_t i : samples) sum += error_pct(stage, i, values);
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

// A fit that predicts what it was not fitted on no better than what was known before.
void hold_all(const Stage& stage, const CorrectionValues& before, Identified* fit) {
  for (std::size_t i = 0; i < stage.unknowns.size(); ++i) {
    fit->values[i] = before[stage.unknowns[i]];
    Found& found = fit->found[i];
    if (!found.held())
      found.held_why = "fitted, it predicts samples left out no better than the base does";
    found = {fit->values[i], 0, 0, found.held_why};
  }
}

struct Part {
  std::string name;
  Indices inside;
};

std::vector<Part> parts_of(const Stage& stage, const std::vector<UsedFile>& files) {
  std::vector<Part> parts;
  std::set<int> present;
  for (const StageSample& sample : stage.samples) present.insert(sample.file);
  if (present.size() > 1) {
    for (const int file : present) {
      Part part{files[static_cast<std::size_t>(file)].file, {}};
      for (std::size_t i = 0; i < stage.samples.size(); ++i) {
        if (stage.samples[i].file == file) part.inside.push_back(i);
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }
  const std::size_t n = stage.samples.size();
  if (n < kBlocks * kLeastPerBlock) return parts;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    Part part;
    for (std::size_t i = block * n / kBlocks; i < (block + 1) * n / kBlocks; ++i)
      part.inside.push_back(i);
    part.name = fmt::format("samples {} to {}", part.inside.front() + 1, part.inside.back() + 1);
    parts.push_back(std::move(part));
  }
  return parts;
}

void cross_validate(const Stage& stage, const std::vector<UsedFile>& files, const Base& base,
                    const CorrectionValues& from, FitQuality* quantity) {
  double sum = 0;
  std::size_t predicted = 0;
  for (const Part& part : parts_of(stage, files)) {
    Indices rest;
    for (std::size_t i = 0; i < stage.samples.size(); ++i) {
      if (!std::binary_search(part.inside.begin(), part.inside.end(), i)) rest.push_back(i);
    }
    if (rest.empty()) continue;
    const CorrectionValues values = with(stage, from, fit_on(stage, rest, base, from));
    double errors = 0;
    for (const std::size_t i : part.inside) errors += error_pct(stage, i, values);
    const auto count = static_cast<double>(part.inside.size());
    quantity->folds.push_back({part.name, static_cast<int>(count), errors / count});
    sum += errors;
    predicted += part.inside.size();
  }
  if (predicted > 0) quantity->cross_mape_pct = sum / static_cast<double>(predicted);
}

void keep_parameters(const Stage& stage, const Identified& fit, const Base& base,
                     CalibrationResult* result) {
  for (std::size_t i = 0; i < stage.unknowns.size(); ++i) {
    const Found& found = fit.found[i];
    const Correction c = stage.unknowns[i];
    result->parameters.push_back(
        {c, found.value, found.error, base.values[c], found.samples, found.held_why});
  }
}

}  // namespace

Base base_of(const Profile& profile) {
  Base base{base_values(profile), {}};
  const auto own = [](const Estimate& e) { return std::max(e.high - e.value, 0.0); };
  const LaunchLaw& launch = profile.launch();
  const PowerStates& power = profile.power_states();
  base.bands[Correction::kernel_time] = 0.25;  // another engine's kernels for the same operation
  base.bands[Correction::attention_time] = 0.25;
  base.bands[Correction::collective_time] = 0.4;  // hosts of the same cards: 25-40 % (models.md)
  base.bands[Correction::launch_time] = 0.5;
  base.bands[Correction::prefill_time] = 0.5;
  base.bands[Correction::host_step] =
      std::max({own(launch.host_step), 0.5 * launch.host_step.value, 0.5e-3});
  base.bands[Correction::host_request] = std::max(0.5 * launch.host_request.value, 1.5e-6);
  base.bands[Correction::power_idle] = std::max(own(power.idle), 0.05 * power.idle.value);
  base.bands[Correction::power_wait] = std::max(own(power.wait), 0.05 * power.wait.value);
  base.bands[Correction::power_gain] = 0.15;  // boards of one type (models.md)
  return base;
}

void fit_stage(const Stage& stage, const std::vector<UsedFile>& files, const Base& base,
               CorrectionValues* values, CalibrationResult* result) {
  if (stage.samples.empty()) return;
  Indices all(stage.samples.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const CorrectionValues before = *values;
  Identified fit = fit_on(stage, all, base, before);
  FitQuality quantity;
  quantity.name = stage.quantity;
  quantity.samples = static_cast<int>(all.size());
  cross_validate(stage, files, base, before, &quantity);
  if (quantity.cross_mape_pct && *quantity.cross_mape_pct >= mean_error(stage, all, before))
    hold_all(stage, before, &fit);
  *values = with(stage, before, fit);
  keep_parameters(stage, fit, base, result);
  quantity.base_mape_pct = mean_error(stage, all, base.values);
  quantity.fitted_mape_pct = mean_error(stage, all, *values);
  for (const std::size_t i : all) {
    const StageSample& sample = stage.samples[i];
    quantity.worst_pct = std::max(quantity.worst_pct, error_pct(stage, i, *values));
    result->points.push_back({stage.quantity, sample.file, sample.line, sample.running,
                              sample.context, sample.measured * stage.to_report,
                              stage.predict(i, base.values) * stage.to_report,
                              stage.predict(i, *values) * stage.to_report});
  }
  result->quantities.push_back(std::move(quantity));
}

}  // namespace plateau
