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
    if (leave_out != board.name) values.push_back(of(board));
  }
  return median(std::move(values));
}

Estimate assumed(double watts) {
  return Estimate::within(watts, PowerFallback::kBand, Source::assumed);
}

}  // namespace

const std::vector<BoardWatts>& known_boards() {
  static const std::vector<BoardWatts> kBoards = {
      {"b200-sxm", 1000, 241, 260, 400, 717, 986, 6350.0 / 7700, 1430.0 / 2250},
      {"h200-sxm", 700, 123, 127, 130, 560, 700, 4020.0 / 4800, 690.0 / 989},
      {"rtx-pro-6000-server", 600, 101, 140, 302, 414, 600, 1490.0 / 1597, 375.0 / 467.8}};
  return kBoards;
}

PowerFallback power_fallback(const DeviceSpec& device, std::optional<double> idle_w,
                             const std::string& leave_out) {
  const double limit = device.power_limit_w;
  const auto share = [&](double BoardWatts::*state) {
    return limit * median_of(leave_out, [&](const BoardWatts& b) { return b.*state / b.limit_w; });
  };
  PowerFallback result;
  const double idle = idle_w.value_or(share(&BoardWatts::idle_w));
  const double wait =
      idle_w ? idle * median_of(leave_out, [](const BoardWatts& b) { return b.wait_w / b.idle_w; })
             : std::max(idle, share(&BoardWatts::wait_w));
  result.states = {assumed(idle), assumed(wait), assumed((idle + wait) / 2)};
  result.law.busy_w = assumed(std::max(wait, share(&BoardWatts::busy_w)));
  result.law.memory_w = assumed(share(&BoardWatts::memory_w));
  result.law.tensor_w = assumed(share(&BoardWatts::tensor_w));
  result.law.memory_rate = device.memory_bandwidth *
                           median_of(leave_out, [](const BoardWatts& b) { return b.memory_share; });
  result.law.bf16_rate =
      device.bf16_flops * median_of(leave_out, [](const BoardWatts& b) { return b.tensor_share; });
  result.law.limit_w = limit;
  return result;
}

}  // namespace plateau
