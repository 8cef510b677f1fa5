// Watts of boards that nobody metered, and devices seen through another one's tables.
#include "models/power_fallback.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "calibration/profile.h"

using namespace plateau;

namespace {

std::unique_ptr<Profile> shipped(const std::string& name, int ranks = 1) {
  ProfileOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.name = name;
  options.ranks = ranks;
  return load_profile(options);
}

OpCall gemm(double m, double n, double k) {
  OpCall call;
  call.op = Op::gemm;
  call.m = m;
  call.n = n;
  call.k = k;
  return call;
}

}  // namespace

TEST_CASE("fallback watts are median shares of the limit, 20 % either way, and say assumed") {
  DeviceSpec device;
  device.name = "x";
  device.power_limit_w = 500;
  device.memory_bandwidth = 1e12;
  device.bf16_flops = 1e14;
  const PowerFallback guess = power_fallback(device);
  // Shares of the four known boards: busy 0.51, 0.394, 0.186, 0.503; memory 0.454, 0.455, 0.733,
  // 0.200.
  const double busy = 500 * (276.0 / 700 + 302.0 / 600) / 2;
  CHECK(guess.law.busy_w.value == doctest::Approx(busy));
  CHECK(guess.law.memory_w.value == doctest::Approx(busy + 500 * 0.4545).epsilon(1e-3));
  CHECK(guess.law.memory_w.low == doctest::Approx(0.8 * guess.law.memory_w.value));
  CHECK(guess.law.memory_w.high == doctest::Approx(1.2 * guess.law.memory_w.value));
  CHECK(guess.law.memory_w.source == Source::assumed);
  CHECK(guess.law.limit_w == 500);
  CHECK(guess.states.idle.value < guess.states.wait.value);
  CHECK(guess.states.wait.value < guess.law.busy_w.value);
}

TEST_CASE("fallback watts: a known idle is taken as it is, and a board left out has no say") {
  DeviceSpec device;
  device.name = "h200-sxm";
  device.power_limit_w = 700;
  device.memory_bandwidth = 4.8e12;
  device.bf16_flops = 989e12;
  CHECK(power_fallback(device, 80.0).states.idle.value == 80);
  CHECK(power_fallback(device, 80.0).states.wait.value > 80);
  const PowerFallback without = power_fallback(device, {}, "h200-sxm");
  CHECK(without.law.busy_w.value == doctest::Approx(700 * 302.0 / 600));
}

TEST_CASE("a scaled profile keeps the utilisation of the other device's laws") {
  const auto base = shipped("h200-sxm/sglang-0.5.14");
  const auto scaled = shipped("h100-sxm/scaled-from-h200");
  const OpCall streaming = gemm(1, 16384, 16384);
  const OpCall arithmetic = gemm(8192, 8192, 8192);
  const double slower = 4800.0 / 3350;
  CHECK(scaled->cost(streaming).seconds.value / base->cost(streaming).seconds.value ==
        doctest::Approx(slower).epsilon(0.02));
  CHECK(scaled->cost(arithmetic).seconds.value / base->cost(arithmetic).seconds.value ==
        doctest::Approx(1).epsilon(0.02));
  CHECK(scaled->cost(arithmetic).seconds.source >= Source::extrapolated);
  CHECK(scaled->cost(arithmetic).seconds.high >= 1.15 * scaled->cost(arithmetic).seconds.value);
}

TEST_CASE("an unmetered device warns, carries 20 % and stays below its limit") {
  const auto scaled = shipped("h100-sxm/scaled-from-h200");
  REQUIRE(scaled->warnings().size() == 2);
  CHECK(scaled->warnings()[1].find("within 20 %") != std::string::npos);
  const Estimate watts = scaled->cost(gemm(1, 16384, 16384)).watts;
  CHECK(watts.low == doctest::Approx(0.8 * watts.value));
  CHECK(watts.high == doctest::Approx(std::min(700.0, 1.2 * watts.value)));
  CHECK(scaled->cost(gemm(8192, 8192, 8192)).watts.value <= 700);
}

TEST_CASE("the Workstation card is metered: no warning about its watts, other clocks, no tables") {
  const auto card = shipped("rtx-pro-6000-workstation/scaled-from-server");
  CHECK(card->warnings().size() == 1);
  CHECK(card->clock().max_mhz == doctest::Approx(2779));
  CHECK_FALSE(card->provenance().tables.empty());
}
