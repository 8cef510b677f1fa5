// Laws of watts against runs that they did not see: public power-cap sweeps and ML.ENERGY v3.
// The files are third-party; without ../shared nothing is checked.
#include <doctest/doctest.h>

#include <filesystem>

#include "calibration/clock_fit.h"
#include "calibration/power_curve.h"

using namespace plateau;

namespace {

const std::string kPower = std::string(PLATEAU_SOURCE_DIR) + "/../shared/data/power/";

bool present(const std::string& file) {
  if (std::filesystem::exists(kPower + file)) return true;
  MESSAGE("skipped: no ", kPower + file);
  return false;
}

}  // namespace

TEST_CASE("cap sweeps of a MoE model: throughput within 5 % at every cap, by a dense model's law") {
  if (!present("rtx_pro_6000_power_points.csv")) return;
  const CapSweepSummary summary =
      read_cap_sweeps(kPower + "rtx_pro_6000_power_points.csv", {"source=mmbt"}, "workload");
  int moe = 0;
  for (const CapSweepResult& result : summary.held_out) {
    if (result.sweep.labels.at("workload").find("Coder-Next") == std::string::npos) continue;
    ++moe;
    CHECK(result.fitted_on.find("Coder-Next") == std::string::npos);
    CHECK(result.predictions.size() == 7);
    for (const CapPrediction& at : result.predictions) {
      CHECK_MESSAGE(std::abs(at.error()) <= 0.05, result.sweep.name, " at ", at.point.cap_w, " W");
    }
  }
  CHECK(moe == 2);
}

TEST_CASE("ML.ENERGY: a batch left out, edges too, is predicted within 5 % mean over MoE series") {
  if (!present("mlenergy_v3_llm_runs.csv")) return;
  const PowerRunsSummary summary =
      read_power_runs(kPower + "mlenergy_v3_llm_runs.csv", {"arch=MoE"});
  double error = 0;
  int series = 0;
  int runs = 0;
  int inside = 0;
  for (const PowerSeries& of : summary.series) {
    if (of.left_out.empty()) continue;
    ++series;
    error += of.mean_error;
    for (const LeftOutRun& run : of.left_out) {
      ++runs;
      inside += run.run.watts >= run.predicted.low && run.run.watts <= run.predicted.high ? 1 : 0;
    }
  }
  CHECK(series == 55);
  CHECK(error / series <= 0.05);
  CHECK(inside >= 0.80 * runs);
  CHECK(inside <= 0.98 * runs);
}
