// The clock law from power-cap sweeps, on sweeps made by a known law.
#include "calibration/clock_fit.h"

#include <doctest/doctest.h>

#include "calibration/csv.h"
#include "models/step_cost.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

ClockLaw truth() {
  ClockLaw law;
  law.max_mhz = 2800;
  law.min_mhz = 280;
  law.knee_mhz = 2400;
  law.voltage_rise = 0.4;
  law.static_w = 110;
  law.base_share = 0.3;
  return law;
}

// A sweep of a load that draws `watts` at the largest clock.
CapSweep sweep_of(const ClockLaw& law, const std::string& name, double watts) {
  CapSweep sweep{name, {{"workload", name}}, {}};
  CapPoint anchor;
  anchor.cap_w = 600;
  anchor.watts = watts;
  anchor.mhz = law.max_mhz;
  anchor.rate = 1000;
  sweep.points.push_back(anchor);
  for (const double cap : {500.0, 450.0, 400.0, 350.0, 300.0, 250.0}) {
    CapSweep probe = sweep;
    probe.points = {anchor};
    probe.points.front().cap_w = cap;
    const CapPrediction at = predict_sweep(law, probe).front();
    sweep.points.push_back({cap, std::min(cap, watts), at.mhz, at.rate, 0});
  }
  return sweep;
}

}  // namespace

TEST_CASE("clock fit: a sweep made by a law gives that law back") {
  const ClockFit fit = fit_clock({sweep_of(truth(), "a", 560), sweep_of(truth(), "b", 520)});
  CHECK(fit.law.max_mhz == doctest::Approx(2800));
  CHECK(fit.law.knee_mhz == doctest::Approx(2400).epsilon(0.02));
  CHECK(fit.law.voltage_rise == doctest::Approx(0.4).epsilon(0.08));
  CHECK(fit.law.static_w == doctest::Approx(110).epsilon(0.03));
  CHECK(fit.law.base_share == doctest::Approx(0.3).epsilon(0.01));
  CHECK(fit.power_residual < 0.005);
}

TEST_CASE("clock fit: a held-out sweep follows from its uncapped run") {
  const ClockFit fit = fit_clock({sweep_of(truth(), "a", 560)}, 2800);
  for (const CapPrediction& at : predict_sweep(fit.law, sweep_of(truth(), "b", 500)))
    CHECK(at.error() == doctest::Approx(0).epsilon(0.01));
}

TEST_CASE("cap sweeps: a workload is left out with all of its loads, short series are counted") {
  const std::string path = toy::folder("cap_sweep") + "/sweep.csv";
  std::string text = "workload,n_concurrent,power_cap_w,power_w,sm_mhz,throughput\n";
  for (const char* name : {"a,1", "a,32", "b,32"}) {
    const CapSweep sweep = sweep_of(truth(), name, 540);
    for (const CapPoint& p : sweep.points) {
      text += std::string(name) + "," + std::to_string(p.cap_w) + "," + std::to_string(p.watts) +
              "," + std::to_string(p.mhz) + "," + std::to_string(p.rate) + "\n";
    }
  }
  write_file(path, text + "c,1,600,300,2800,5\n");
  const CapSweepSummary summary = read_cap_sweeps(path, {}, "workload");
  REQUIRE(summary.held_out.size() == 3);
  CHECK(summary.held_out[0].fitted_on == "b, n_concurrent 32");
  CHECK(summary.held_out[2].fitted_on == "a, n_concurrent 1; a, n_concurrent 32");
  for (const CapSweepResult& result : summary.held_out) CHECK(result.worst_error < 0.01);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].second == 1);
}
