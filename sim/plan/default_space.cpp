#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/plan/plan.h"

namespace plateau {

namespace {

std::string list(const std::string& key, const std::vector<std::string>& values) {
  std::string text = key + "=";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + values[i];
  return text;
}

std::vector<std::string> batch_caps(const Scenario& scenario) {
  const auto clients =
      static_cast<double>(scenario.workload.client == WorkloadConfig::Client::closed_loop
                              ? scenario.workload.concurrency
                              : 1024);
  std::vector<std::string> caps;
  for (const double share : {0.0625, 0.125, 0.25, 0.5, 0.75, 1.0}) {
    const std::string cap = fmt::format("{:.0f}", std::max(1.0, std::round(clients * share)));
    if (caps.empty() || caps.back() != cap) caps.push_back(cap);
  }
  return caps;
}

// "sglang" of "h200-sxm/sglang-0.5.14".
std::string engine_of(const std::string& profile) {
  const std::string name = profile.substr(profile.find('/') + 1);
  return name.substr(0, name.find('-'));
}

}  // namespace

std::vector<std::string> default_space(const Scenario& scenario, const std::string& objective,
                                       const ClockLaw& clock, double power_limit_w,
                                       const std::vector<std::string>& profiles) {
  const EngineConfig& engine = scenario.engine;
  std::vector<std::string> space = {list("engine.max_running_requests", batch_caps(scenario)),
                                    "engine.chunked_prefill_size=2048,4096,8192,16384",
                                    "engine.disable_cuda_graph=false,true"};
  if (objective == "gpus") space.insert(space.begin(), "parallel.replicas=1,2,3,4,6,8");
  if (clock.known() && power_limit_w > 0) {
    std::vector<std::string> watts;
    for (const double share : {0.6, 0.7, 0.8, 0.9, 1.0})
      watts.push_back(fmt::format("{:.0f} W", power_limit_w * share));
    if (!scenario.hardware.power_limit_w) space.push_back(list("hardware.power_limit", watts));
  }
  if (engine.kv_pool_tokens) return space;
  if (engine.kind == EngineConfig::Kind::sglang) {
    space.emplace_back("engine.mem_fraction_static=0.8,0.84,0.88,0.92");
    space.emplace_back("engine.kv_cache_dtype=auto,fp8_e4m3");
  }
  if (engine.weights_gib || engine.free_memory_gib) return space;  // logged at this TP and device
  if (scenario.parallel.tp > 1) space.emplace_back("parallel.tp=1,2,4,8");
  std::vector<std::string> same;
  for (const std::string& profile : profiles) {
    if (engine_of(profile) == engine_of(scenario.calibration.profile)) same.push_back(profile);
  }
  if (same.size() > 1) space.push_back(list("calibration.profile", same));
  return space;
}

}  // namespace plateau
