// Server logs and power logs on one clock: stretches, the meter's second, stated offsets.
#include "calibration/join/power_windows.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/support/import_support.h"
#include "tests/support/scenario_text.h"
#include "tests/support/sglang_lines.h"

using namespace plateau;
using namespace plateau::test;
using imports::Measurement;

namespace {

// 64 requests at 50 ms a step from 0 to 20 s (line every 2 s), silence, 128 at 100 ms from 100 s.
std::string server_log(double shift_s = 0) {
  std::string log;
  const auto run = [&](double start, int running, double step) {
    log += prefill_line(start, running, 64.0 * running, 0);
    for (int i = 1; i <= 6; ++i)
      log += decode_line(start + i * 40 * step, running, (100.0 + 40 * i) * running, 1e6,
                         running / step);
  };
  run(shift_s, 64, 0.05);
  run(100 + shift_s, 128, 0.1);
  return log;
}

// nvidia-smi at 5 Hz of two GPUs: 300 W before 20 s, 90 W while idle, 500 W from 100 s on, through
// the meter's trailing second.
std::string power_log(double shift_s) {
  const auto watts = [](double t) {
    return t < 0 ? 80.0 : t < 20 ? 300.0 : t < 100 ? 90.0 : 500.0;
  };
  std::string csv = "timestamp, index, power.draw [W]\n";
  for (int i = 0; i < 130 * 5; ++i) {
    const double t = 0.2 * i;
    double mean = 0;
    for (int k = 0; k < 10; ++k) mean += watts(t - 0.1 * k - 0.05) / 10;
    for (int gpu = 0; gpu < 2; ++gpu) {
      std::string stamp = log_time(t + shift_s);
      stamp[4] = stamp[7] = '/';
      char row[80];
      std::snprintf(row, sizeof row, "%s, %d, %.2f W\n", stamp.c_str(), gpu, mean + 10 * gpu);
      csv += row;
    }
  }
  return csv;
}

struct Files {
  TemporaryFolder folder;
  std::string log;
  std::string power;
  Measurement measurement;

  explicit Files(const std::string& csv, const std::string& server = server_log())
      : log(folder.write("server.log", server)), power(folder.write("power.csv", csv)) {
    measurement = imports::import_files({{log, power}, {}});
  }
  join::PowerSplit split(const join::ClockOptions& options = {}) const {
    return join::split_power(measurement, imports::decode_step_samples(measurement), options);
  }
};

}  // namespace

TEST_CASE("watts of a steady stretch are those of its own seconds, the meter's first left out") {
  const Files files(power_log(0));
  const join::PowerSplit split = files.split();
  REQUIRE(split.steady.size() == 4);
  CHECK(split.steady[0].window.running_requests == 64);
  CHECK(split.steady[0].window.start_s + 10 ==
        doctest::Approx(split.steady[0].window.end_s));  // five windows of 2 s
  CHECK(split.steady[0].watts == doctest::Approx(300));
  CHECK(split.steady[1].watts == doctest::Approx(310));
  CHECK(split.steady[3].watts == doctest::Approx(510));
  CHECK(split.gpus == 2);
  REQUIRE(split.idle.size() == 2);
  CHECK(split.idle[0].watts == doctest::Approx(90));
  CHECK(split.in_steady > 0);
  CHECK(split.changing > 0);
  CHECK(split.outside > 0);
  CHECK(split.in_steady + split.in_idle + split.changing + split.outside == 130 * 5 * 2);
}

TEST_CASE("a stated offset puts a shifted power log in its place") {
  const Files files(power_log(3600));
  CHECK(imports::input_error_of([&] {
          files.split();
        }).find("another time zone? --offset " + files.power + "=-3600") != std::string::npos);
  const join::PowerSplit split = files.split({{{files.power, -3600}}, {}});
  REQUIRE(split.steady.size() == 4);
  CHECK(split.steady[0].watts == doctest::Approx(300));
}

TEST_CASE("UTC beside local time needs the zone") {
  // 2026-11-30 10:00:00 local is 09:00:00 UTC in a zone one hour ahead: 1796029200.
  std::string csv = "epoch_s,gpu,power_w\n";
  for (int i = 0; i < 200; ++i)
    csv += std::to_string(1796029200 + i) + ",0," + (i < 20 ? "300" : "90") + "\n";
  const Files files(csv);
  CHECK(imports::input_error_of([&] { files.split(); }).find("--utc-offset") != std::string::npos);
  join::ClockOptions options;
  options.utc_offset_h = 1;
  const join::PowerSplit split = files.split(options);
  REQUIRE(!split.steady.empty());
  CHECK(split.steady[0].watts == doctest::Approx(300));
}

TEST_CASE("a power log that counts from its own start needs a start") {
  std::string csv = "t_s,power_w,sm_mhz,util_pct\n";
  for (int i = 0; i < 200; ++i) csv += std::to_string(i) + ".0,300,1980,100\n";
  const Files files(csv);
  CHECK(imports::input_error_of([&] { files.split(); }).find("--offset " + files.power) !=
        std::string::npos);
  const join::PowerSplit split = files.split({{{files.power, 0}}, {}});
  CHECK(split.steady.at(0).watts == doctest::Approx(300));
}

TEST_CASE("whole seconds in the server's clock cost one more second") {
  const join::PowerSplit fine = Files(power_log(0), server_log(0.1)).split();
  const join::PowerSplit whole = Files(power_log(0), server_log(0)).split();
  CHECK(fine.steady[0].samples == 45);   // 5 Hz from 3.1 to 12.1 s
  CHECK(whole.steady[0].samples == 41);  // from 4 to 12 s
  CHECK(whole.steady[0].watts == doctest::Approx(300));
}

TEST_CASE("a power log from another day says so") {
  CHECK(imports::input_error_of([&] { Files(power_log(7000)).split(); }).find("does not meet") !=
        std::string::npos);
}

TEST_CASE("readings without a time count at the stated moment") {
  const Files files("0, 300.00 W, 100 %, 2362 MHz\n1, 320.00 W, 100 %, 2400 MHz\n");
  CHECK(imports::input_error_of([&] { files.split(); }).find("tells no time") != std::string::npos);
  const join::PowerSplit steady = files.split({{{files.power, 8}}, {}});
  REQUIRE(steady.steady.size() == 2);
  CHECK(steady.steady[1].watts == doctest::Approx(320));
  CHECK(files.split({{{files.power, 1}}, {}}).changing == 2);  // the first line's window is unknown
}
