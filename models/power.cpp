#include "models/power.h"

namespace plateau {

namespace {

double mix(double busy, double memory, double tensor, double memory_use, double tensor_use,
           double limit) {
  const double watts = busy + (memory - busy) * memory_use + (tensor - busy) * tensor_use;
  return limit > 0 ? std::min(watts, limit) : watts;
}

}  // namespace

Estimate watts_of(const PowerLaw& law, const Work& work, double seconds, double tensor_rate) {
  if (seconds <= 0) return law.busy_w;
  const double memory_use = std::min(1.0, work.bytes / seconds / law.memory_rate);
  const double tensor_use =
      tensor_rate > 0 ? std::min(1.0, work.flops / seconds / tensor_rate) : 0.0;
  const double limit = law.limit_w;
  return {
      mix(law.busy_w.value, law.memory_w.value, law.tensor_w.value, memory_use, tensor_use, limit),
      mix(law.busy_w.low, law.memory_w.low, law.tensor_w.low, memory_use, tensor_use, limit),
      mix(law.busy_w.high, law.memory_w.high, law.tensor_w.high, memory_use, tensor_use, limit),
      std::max(
          {law.busy_w.source, law.memory_w.source, law.tensor_w.source, Source::interpolated})};
}

}  // namespace plateau
