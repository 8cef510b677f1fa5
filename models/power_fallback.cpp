#include "models/power_fallback.h"

#include <algorithm>

namespace plateau {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class Of>
double median_of(const std::string& leave_out, Of of) {
  std::vector<double> values;
  for (const BoardWatts& board : known_boards()) {
    const double value = of(board);
    if (leave_out != board.name && value > 0) values.push_back(value);
  }
  return median(std::move(values));
}

Estimate assumed(double watts) {
  return Estimate::within(watts, PowerFallback::kBand, Source::assumed);
}

}  // namespace

const std::vector<BoardWatts>& known_boards() {
  static const std::vector<BoardWatts> kBoards = {
      {"b200-sxm", 1000, 241, 260, 510, 59e-12 * 7700e9, 0.9e-12 * 2250e12},
      {"h100-sxm", 700, 0, 0, 276, 95e-12 * 3350e9, 3.2e-12 * 989e12},
      {"h200-sxm", 700, 123, 127, 130, (560 - 130) * 4800.0 / 4020, (700 - 130) * 989.0 / 690},
      {"rtx-pro-6000-server", 600, 101, 140, 302, (414 - 302) * 1597.0 / 1490,
       (600 - 302) * 467.8 / 375}};
  return kBoards;
}

PowerFallback power_fallback(const DeviceSpec& device, std::optional<double> idle_w,
                             const std::string& leave_out) {
  const double limit = device.power_limit_w;
  const auto share = [&](double BoardWatts::*state) {
    return limit * median_of(leave_out, [&](const BoardWatts& b) { return b.*state / b.limit_w; });
  };
  const auto waiting = [](const BoardWatts& b) { return b.idle_w > 0 ? b.wait_w / b.idle_w : 0; };
  PowerFallback result;
  const double idle = idle_w.value_or(share(&BoardWatts::idle_w));
  const double wait =
      idle_w ? idle * median_of(leave_out, waiting) : std::max(idle, share(&BoardWatts::wait_w));
  const double busy = std::max(wait, share(&BoardWatts::busy_w));
  result.states = {assumed(idle), assumed(wait), assumed((idle + wait) / 2)};
  result.law.busy_w = assumed(busy);
  result.law.memory_w = assumed(busy + share(&BoardWatts::memory_w));
  result.law.tensor_w = assumed(busy + share(&BoardWatts::tensor_w));
  result.law.memory_rate = device.memory_bandwidth;
  result.law.bf16_rate = device.bf16_flops;
  result.law.limit_w = limit;
  return result;
}

}  // namespace plateau
