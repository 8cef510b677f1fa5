// Traces of steps and power logs beside the simulated run.
#include "sim/validate/time_series.h"

#include <doctest/doctest.h>

#include "calibration/csv.h"
#include "sim/validate/step_log.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;

ValidationOptions options_of(const std::string& name, const std::string& text) {
  ValidationOptions options;
  options.measured = toy::folder("time_series_" + name.substr(0, 5)) + "/" + name;
  options.base = kRoot + "/scenarios/h200-torch-bf16.yaml";
  options.data_dir = kRoot;
  write_file(options.measured, text);
  return options;
}

std::string complaint(const std::string& name, const std::string& text) {
  try {
    validate(options_of(name, text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("step log: the meter shows the mean of the second before, idle before the run") {
  StepLog log(100, 120);
  StepShape shape;
  shape.decode_sequences = 4;
  StepCost cost;
  cost.seconds = 0.5;
  cost.joules = 200;  // 400 W
  StepRecord step;
  step.shape = &shape;
  step.cost = &cost;
  step.host_gap = to_sim_time(0.25);
  step.start = to_sim_time(0.5);
  step.end = to_sim_time(1.0);
  log.on_step(step);
  REQUIRE(log.steps().size() == 1);
  CHECK(log.steps()[0].requests == 4);
  CHECK(log.end_s() == doctest::Approx(1));
  CHECK(log.metered(0, 1) == doctest::Approx(100));
  CHECK(log.metered(1, 1) == doctest::Approx(0.25 * 100 + 0.25 * 120 + 0.5 * 400));
  CHECK(log.metered(1, 0.5) == doctest::Approx(400));
  CHECK(log.metered(3, 1) == doctest::Approx(100));
}

TEST_CASE("a trace alone: every step priced at its own batch, the run is the base scenario's") {
  const Validation validation = validate(options_of(
      "trace_x.csv",
      "phase,start_s,requests,tokens,ms\nprefill,0,64,8192,165\ndecode,0.2,256,33024,31.9\n"));
  REQUIRE(validation.rows.size() == 3);
  CHECK(validation.rows[0].metrics.count("prefill_ms") == 1);
  CHECK(std::abs(validation.rows[1].metrics.at("step_ms").error()) < 0.05);
  CHECK(validation.rows[2].metrics.at("decode_steps").predicted == 254);
  CHECK(validation.notes.size() == 1);
  CHECK(validation.series.size() == 3);
  CHECK(validation_svg(validation).find("decode step, ms") != std::string::npos);
  CHECK(validation_text(validation).find("The largest errors") != std::string::npos);
  CHECK(validation_json(validation).find("\"series\"") != std::string::npos);
}

TEST_CASE("a trace's bad cells and columns are all named, with their lines") {
  const std::string text =
      complaint("trace_x.csv",
                "phase,start_s,requests,tokens,ms,volts\nprefill,0,64,8192,0,1\n"
                "decode,-1,[N/A],8192,3,1\nidle,1,2,3,4,5\n");
  for (const char* part : {"volts", ":2:", "'0'", ":3:", "'-1'", "[N/A]", "idle"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part << " in " << text);
}

TEST_CASE("a power log's bad cells are all named") {
  const std::string text =
      complaint("power_x.csv", "t_s,power_w,sm_mhz\n0,300,1980\n0.1,-5,1980\n0.2,,[N/A]\n");
  for (const char* part : {":3:", "-5", ":4:", "is missing", "[N/A]"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part << " in " << text);
}
