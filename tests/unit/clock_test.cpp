#include "models/clock.h"

#include <doctest/doctest.h>

#include "models/step_cost.h"

using namespace plateau;

namespace {

ClockLaw law() {
  ClockLaw law;
  law.max_mhz = 2750;
  law.min_mhz = 200;
  law.knee_mhz = 2480;
  law.voltage_rise = 0.42;
  law.static_w = 120;
  law.base_share = 0.28;
  return law;
}

StepCost step() {
  StepCost step;
  step[Part::moe] = {0.010, 0.010 * 550};
  step[Part::all_reduce] = {0.005, 0.005 * 140};
  step.clock_seconds[static_cast<std::size_t>(Part::moe)] = 0.0028;
  step.seconds = 0.015;
  step.joules = 0.010 * 550 + 0.005 * 140;
  return step;
}

}  // namespace

TEST_CASE("a limit above the step's own power changes nothing, to the bit") {
  const StepCost full = step();
  CHECK(clock_under_limit(full, law(), 600) == law().max_mhz);
  const StepCost same = at_clock(full, law(), law().max_mhz);
  CHECK(same.seconds == full.seconds);
  CHECK(same.joules == full.joules);
}

TEST_CASE(
    "a limit below the step's own power is kept within 0.5 % and stretches only what waits for the "
    "SMs") {
  const StepCost full = step();
  for (const double limit : {400.0, 350.0, 300.0, 250.0}) {
    const double mhz = clock_under_limit(full, law(), limit);
    const StepCost capped = at_clock(full, law(), mhz);
    CHECK(capped.joules / capped.seconds == doctest::Approx(limit).epsilon(0.005));
    CHECK(capped[Part::all_reduce].seconds == full[Part::all_reduce].seconds);
    CHECK(capped[Part::moe].seconds == doctest::Approx(0.010 - 0.0028 + 0.0028 * 2750 / mhz));
  }
}

TEST_CASE("lower clocks never draw more and never run faster") {
  const StepCost full = step();
  double seconds = 0;
  double watts = 1e9;
  for (double mhz = 2750; mhz >= 300; mhz -= 50) {
    const StepCost at = at_clock(full, law(), mhz);
    CHECK(at.seconds >= seconds);
    CHECK(at.joules / at.seconds <= watts);
    seconds = at.seconds;
    watts = at.joules / at.seconds;
  }
}

TEST_CASE("clock shares: collectives 0, streaming the base, a GEMM at peak all of it") {
  OpCall collective;
  collective.op = Op::all_reduce;
  CHECK(clock_share(law(), collective, 1e-3, 1e15) == 0);
  OpCall gemm;
  gemm.op = Op::gemm;
  gemm.m = 1000;
  gemm.n = 1000;
  gemm.k = 1000;
  CHECK(clock_share(law(), gemm, 2e9 / 1e15, 1e15) == doctest::Approx(1));
  CHECK(clock_share(law(), gemm, 1, 1e15) == doctest::Approx(0.28).epsilon(1e-4));
}
