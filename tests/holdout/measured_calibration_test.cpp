// A profile corrected by the decode lines of half a trace predicts the other half, and the steps of
// another run, of the H200 measurement (docs/measurements/h200-2026-11-30).
//
// The base profiles know nothing of these runs: torch-2.11-bf16 was measured on another board by
// another program, sglang-0.5.14 is fitted to published tables of another engine's kernels.
#include <doctest/doctest.h>

#include <cmath>

#include "calibration/csv.h"
#include "calibration/import/import.h"
#include "sim/calibrate/calibration.h"
#include "sim/calibrate/decode_stage.h"
#include "sim/scenario/read_scenario.h"
#include "tests/support/scenario_text.h"
#include "tests/support/sglang_lines.h"

using namespace plateau;
using namespace plateau::test;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;
const std::string kTraces = kRoot + "/docs/measurements/h200-2026-11-30/trace_qwen3_";
const char* const kLockStep = "c256_wall256.csv";
const char* const kMixed = "c512_wall_jitter.csv";

using Steps = std::vector<TraceStep>;

Steps half(const Steps& steps, bool second) {
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  return second ? Steps(middle, steps.end()) : Steps(steps.begin(), middle);
}

// SGLang hides the host's work; the engine of the traces does not.
ScenarioOptions options_of(const std::string& profile, HostTime host) {
  ScenarioOptions options;
  options.data_dir = kRoot;
  options.sets = {"calibration.profile=" + profile, "calibration.board=~", "engine.page_size=1"};
  if (host == HostTime::hidden) {
    options.sets.emplace_back("engine.kind=sglang");
    options.sets.emplace_back("engine.version=2026-02");
  }
  return options;
}

struct Corrected {
  CalibrationResult result;
  std::string profile;  // by its folder
};

Corrected calibrated(const TemporaryFolder& folder, const std::string& base, const Steps& steps,
                     int interval, HostTime host) {
  const std::string log = folder.write("server.log", sglang_log_of(steps, interval, host));
  const Scenario scenario =
      read_scenario(kRoot + "/scenarios/h200-torch-bf16.yaml", options_of(base, host));
  Corrected corrected;
  corrected.result = calibrate(scenario, imports::import_files({{log}, {}}), {kRoot, {}, {}});
  folder.write("profile/meta.yaml", corrected_meta_yaml(corrected.result, base));
  corrected.profile = folder.path("profile");
  return corrected;
}

struct Error {
  double mape_pct = 0;
  int steps = 0;
};

// Every decode step; with the host shown from the end of the step before, if that decoded too.
Error error_on(const std::string& profile, const Steps& steps, HostTime host) {
  Deployment deployment(
      read_scenario(kRoot + "/scenarios/h200-torch-bf16.yaml", options_of(profile, host)), kRoot);
  const StepLaw law(deployment.profile().launch(), overlaps(deployment));
  const CorrectionValues values = base_values(deployment.profile());
  Error error;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const bool shown = host == HostTime::shown;
    if (!steps[i].decode || (shown && !steps[i - 1].decode)) continue;
    const double gap = shown ? steps[i].start_s - steps[i - 1].start_s - steps[i - 1].ms / 1e3 : 0;
    const StepTerms terms =
        terms_of(deployment,
                 deployment.decode_shape(steps[i].requests, steps[i].tokens / steps[i].requests));
    const double measured = gap + steps[i].ms / 1e3;
    const double off = 100 * (law.period_seconds(terms, values) / measured - 1);
    error.mape_pct += std::abs(off);
    ++error.steps;
  }
  error.mape_pct /= error.steps;
  return error;
}

}  // namespace

TEST_CASE("half a trace's decode lines calibrate: the other half and the other trace within 5 %") {
  const Steps lock_step = read_trace(kTraces + kLockStep);
  const Steps mixed = read_trace(kTraces + kMixed);
  for (const std::string base : {"h200-sxm/torch-2.11-bf16", "h200-sxm/sglang-0.5.14"}) {
    const double bar = base == "h200-sxm/torch-2.11-bf16" ? 1.5 : 5;
    for (const bool from_mixed : {false, true}) {
      for (const int interval : {40, 8, 1}) {
        if (from_mixed && interval == 40) continue;  // every window of it holds a prefill
        const Steps& own = from_mixed ? mixed : lock_step;
        const TemporaryFolder folder;
        const Corrected corrected =
            calibrated(folder, base, half(own, false), interval, HostTime::hidden);
        const Error second = error_on(corrected.profile, half(own, true), HostTime::hidden);
        const Error other =
            error_on(corrected.profile, from_mixed ? lock_step : mixed, HostTime::hidden);
        INFO(base, std::string(from_mixed ? " from the mixed run" : " from equal waves"),
             ", interval ", interval, ": ", second.mape_pct, " % and ", other.mape_pct, " %");
        CHECK(second.steps > 100);
        CHECK(other.steps > 250);
        CHECK(second.mape_pct <= bar);
        CHECK(other.mape_pct <= bar);
      }
    }
  }
}

// Between the halves of the first trace the host's mean gap goes from 2.0 to 4.0 ms, 5.7 % of a
// step, for no reason a log tells: that is what is missed.
TEST_CASE("with the host's gaps shown the rest of the run is within 8 %, the host's drift") {
  const Steps lock_step = read_trace(kTraces + kLockStep);
  const Steps mixed = read_trace(kTraces + kMixed);
  for (const bool from_mixed : {false, true}) {
    const Steps& own = from_mixed ? mixed : lock_step;
    const TemporaryFolder folder;
    const Corrected corrected =
        calibrated(folder, "h200-sxm/torch-2.11-bf16", half(own, false), 8, HostTime::shown);
    CHECK(error_on(corrected.profile, half(own, true), HostTime::shown).mape_pct <= 8);
    CHECK(error_on(corrected.profile, from_mixed ? lock_step : mixed, HostTime::shown).mape_pct <=
          5);
  }
}
