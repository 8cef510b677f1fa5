// Watts against batch from a few runs of one configuration.
#include "calibration/power_curve.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/csv.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

std::string file_with(const std::string& text) {
  const std::string path = toy::folder("power_runs") + "/runs.csv";
  write_file(path, text);
  return path;
}

std::string complaint(const std::string& text, const std::vector<std::string>& where = {}) {
  try {
    read_power_runs(file_with(text), where);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("power curve: one run carries over with five percent for each doubling") {
  const PowerCurve curve({{64, 400, 0}});
  CHECK(curve.watts(64).value == doctest::Approx(400).epsilon(1e-3));
  CHECK(curve.watts(4096).value == doctest::Approx(400 * std::exp(0.05 * 6)).epsilon(0.01));
}

TEST_CASE("power curve: it follows a fall past the peak and widens away from the runs") {
  const std::vector<PowerRun> runs = {{8, 430, 0},   {32, 540, 0},   {128, 620, 0},
                                      {512, 600, 0}, {1024, 520, 0}, {2048, 460, 0}};
  const PowerCurve curve(runs);
  for (const PowerRun& run : runs)
    CHECK(curve.watts(run.batch).value == doctest::Approx(run.watts).epsilon(0.05));
  CHECK(curve.watts(2048).value < curve.watts(256).value);
  const auto width = [&](double batch) { return curve.watts(batch).high / curve.watts(batch).low; };
  CHECK(width(1 << 20) > width(2048));
  CHECK(curve.watts(64).source == Source::interpolated);
  CHECK(curve.watts(4).source == Source::extrapolated);
}

TEST_CASE("power runs: configurations are told apart and each batch is left out once") {
  const PowerRunsSummary summary = read_power_runs(
      file_with("model,gpu,batch,power_w\na,x,8,300\na,x,16,320\na,y,8,500\na,x,32,340\n"), {});
  REQUIRE(summary.series.size() == 2);
  CHECK(summary.series[0].name == "x");
  REQUIRE(summary.series[0].left_out.size() == 3);
  CHECK(summary.series[0].left_out[1].run.batch == 16);
  CHECK(summary.series[0].worst_error < 0.05);
  CHECK(summary.series[1].left_out.empty());  // one batch cannot spare one
}

TEST_CASE("power runs: rows chosen by a column's value are counted, the others too") {
  const PowerRunsSummary summary =
      read_power_runs(file_with("gpu,batch,power_w\nx,8,300\ny,8,500\ny,16,520\n"), {"gpu=y"});
  CHECK(summary.series.size() == 1);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].second == 1);
}

TEST_CASE("power runs: bad cells are all named, with line and column") {
  const std::string text = complaint("batch,power_w\n8,300\n16,[N/A]\n32,-5\n0,400\n64,\n");
  for (const char* part : {":3:", "[N/A]", ":4:", "-5", ":5:", ":6:", "is missing"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
  }
  CHECK(complaint("batch,watts\n1,2\n").find("power_w") != std::string::npos);
  CHECK(complaint("batch,power_w\n8,300\n", {"gpu=x"}).find("gpu") != std::string::npos);
  CHECK(complaint("batch,power_w\n8,300\n", {"gpu"}).find("column=value") != std::string::npos);
  CHECK_THROWS_AS(read_power_curve(file_with("gpu,batch,power_w\nx,8,300\ny,8,500\n")), InputError);
}
