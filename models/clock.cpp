#include "models/clock.h"

#include <algorithm>

#include "models/step_cost.h"

namespace plateau {

namespace {

constexpr int kBisections = 40;  // a millionth of a MHz

}  // namespace

double clock_share(const ClockLaw& law, const OpCall& call, double seconds, double peak_flops) {
  if (call.op == Op::all_reduce || call.op == Op::all_gather || seconds <= 0) return 0;
  const double tensor_use = std::min(1.0, work_of(call).flops / seconds / peak_flops);
  return law.base_share + (1 - law.base_share) * tensor_use;
}

double dynamic_factor(const ClockLaw& law, double mhz) {
  const auto voltage_squared = [&](double f) {
    if (f <= law.knee_mhz) return 1.0;
    const double above = (f - law.knee_mhz) / (law.max_mhz - law.knee_mhz);
    return 1 + law.voltage_rise * above * above;
  };
  return mhz * voltage_squared(mhz) / (law.max_mhz * voltage_squared(law.max_mhz));
}

StepCost at_clock(const StepCost& step, const ClockLaw& law, double mhz) {
  if (mhz >= law.max_mhz) return step;
  const double slower = law.max_mhz / mhz - 1;
  const double dynamic = dynamic_factor(law, mhz);
  StepCost result = step;
  result.seconds = 0;
  result.joules = 0;
  for (std::size_t p = 0; p < kParts; ++p) {
    const PartCost& full = step.parts[p];
    PartCost& part = result.parts[p];
    part.seconds = full.seconds + step.clock_seconds[p] * slower;
    const double watts = full.seconds > 0 ? full.joules / full.seconds : 0;
    const double fixed = std::min(watts, law.static_w);
    part.joules = (fixed + (watts - fixed) * dynamic) * part.seconds;
    result.seconds += part.seconds;
    result.joules += part.joules;
  }
  const double stretch = step.seconds > 0 ? result.seconds / step.seconds : 1;
  result.busy_seconds *= stretch;
  result.low_seconds *= stretch;
  result.high_seconds *= stretch;
  const double energy = step.joules > 0 ? result.joules / step.joules : 1;
  result.low_joules *= energy;
  result.high_joules *= energy;
  for (double& seconds : result.source_seconds) seconds *= stretch;
  return result;
}

double clock_under_limit(const StepCost& step, const ClockLaw& law, double limit_w) {
  const auto fits = [&](double mhz) {
    const StepCost at = at_clock(step, law, mhz);
    return at.joules <= limit_w * at.seconds;
  };
  if (fits(law.max_mhz)) return law.max_mhz;
  double low = law.min_mhz;
  double high = law.max_mhz;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace plateau
