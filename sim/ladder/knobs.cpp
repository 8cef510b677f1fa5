#include "sim/ladder/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "models/kv_pool.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

using Sets = std::vector<std::string>;

constexpr double kNudge = 1.05;                       // of a bandwidth
constexpr std::int64_t kNudgeShare = 16;              // a count grows by one part in this
constexpr std::int64_t kPrefillNudge = 1024;          // tokens
constexpr double kLargeMessage = 64.0 * 1024 * 1024;  // bytes: a collective at its bandwidth
constexpr double kGigabyte = 1e9;
constexpr double kWattNudge = 10;
constexpr int kCaptureStep = 32;  // of SGLang's captured sizes above 512
constexpr int kFineCaptures = 512;

template <class T>
std::string set(const char* key, T value) {
  return fmt::format("{}={}", key, value);
}

std::string count(std::int64_t value) { return grouped(static_cast<double>(value)); }

bool is_sglang(const Scenario& scenario) {
  return scenario.engine.kind == EngineConfig::Kind::sglang;
}

// A length of KV in tokens, whole pages.
Sets pool_of(std::int64_t tokens) {
  return {set("engine.kv_pool_tokens", tokens), "engine.kv_source=given"};
}

Knob kv_pool(const Deployment& deployment, const Report& report) {
  const EngineLimits& limits = deployment.engine().limits;
  Knob knob{"kv_pool", "a KV pool of " + count(2 * limits.pool_tokens) + " tokens",
            pool_of(2 * limits.pool_tokens)};
  if (report.kv.bytes_per_token_per_gpu <= 0) return knob;
  const std::int64_t page = limits.page_tokens;
  const auto tokens =
      static_cast<std::int64_t>(kGiB / report.kv.bytes_per_token_per_gpu) / page * page;
  if (tokens == 0) return knob;
  knob.nudge = pool_of(limits.pool_tokens + tokens);
  knob.amount = static_cast<double>(tokens) * report.kv.bytes_per_token_per_gpu / kGiB;
  knob.unit = "GiB of KV per GPU";
  return knob;
}

Knob running_cap(const Deployment& deployment) {
  const std::int64_t cap = deployment.engine().limits.max_running;
  const std::int64_t more = std::max<std::int64_t>(1, cap / kNudgeShare);
  return {"running_cap",
          "max_running_requests " + count(2 * cap),
          {set("engine.max_running_requests", 2 * cap)},
          false,
          {set("engine.max_running_requests", cap + more)},
          {},
          static_cast<double>(more),
          "running slot"};
}

Knob admission(const Scenario& scenario) {
  const double half = scenario.engine.schedule_conservativeness / 2;
  return {"admission",
          fmt::format("schedule_conservativeness {}", half),
          {set("engine.schedule_conservativeness", half)}};
}

Sets budget_of(const Deployment& deployment, std::int64_t tokens, std::int64_t prefill) {
  Sets sets;
  if (deployment.engine().limits.chunk_tokens > 0)
    sets.push_back(set("engine.chunked_prefill_size", tokens));
  if (is_sglang(deployment.scenario())) sets.push_back(set("engine.max_prefill_tokens", prefill));
  return sets;
}

Knob token_budget(const Deployment& deployment) {
  const EngineLimits& limits = deployment.engine().limits;
  const std::int64_t chunk = limits.chunk_tokens;
  const std::int64_t prefill = limits.sglang.max_prefill_tokens;
  Knob knob{"token_budget", "twice the prefill tokens a step",
            budget_of(deployment, 2 * chunk, 2 * prefill)};
  knob.nudge = budget_of(deployment, chunk + kPrefillNudge, prefill + kPrefillNudge);
  knob.amount = static_cast<double>(kPrefillNudge) / 1024;
  knob.unit = "1,024 prefill tokens a step";
  return knob;
}

std::optional<Knob> captured_batch(const Deployment& deployment, const Report& report) {
  const EngineConfig& engine = deployment.scenario().engine;
  if (report.step.graph_share >= 1 || report.step.decode_count == 0) return std::nullopt;
  Knob knob{"captured_batch", "CUDA graphs on", {"engine.disable_cuda_graph=false"}};
  if (!engine.cuda_graph_bs.empty()) knob.relax.push_back("engine.cuda_graph_bs=~");
  if (!is_sglang(deployment.scenario())) return knob;
  const int peak = static_cast<int>(std::max<std::int64_t>(1, report.running.peak));
  const int size = peak > kFineCaptures ? (peak + kCaptureStep - 1) / kCaptureStep * kCaptureStep
                                        : kFineCaptures;
  knob.change += " up to a batch of " + count(size);
  knob.relax.push_back(set("engine.cuda_graph_max_bs", size));
  return knob;
}

bool uses_graphs(const Report& report) { return report.step.graph_share >= 0.5; }

Sets scaled(const Scenario& scenario, std::initializer_list<const char*> keys, double factor) {
  Sets sets;
  for (const char* name : keys) {
    for (const WhatIfKey& key : what_if_keys()) {
      if (std::string(key.key) != name) continue;
      sets.push_back(
          fmt::format("hypothetical.{}={}", name, scenario.hypothetical.*key.scale * factor));
    }
  }
  return sets;
}

Knob kernel_floor(const Scenario& scenario, const Report& report) {
  const Sets floor = uses_graphs(report)
                         ? scaled(scenario, {"kernel_floor_scale", "launch_scale"}, 0.5)
                         : scaled(scenario, {"kernel_floor_scale"}, 0.5);
  return {"kernel_floor", "kernels half as far above their roof", floor};
}

Knob weight_streaming(const Deployment& deployment) {
  const Scenario& scenario = deployment.scenario();
  const DeviceSpec& device = deployment.costs().device();
  Knob knob{"weight_streaming", "twice the memory bandwidth",
            scaled(scenario, {"memory_bandwidth_scale"}, 2)};
  knob.nudge = scaled(scenario, {"memory_bandwidth_scale"}, kNudge);
  knob.amount =
      (kNudge - 1) * scenario.hypothetical.memory_bandwidth * device.memory_bandwidth / kGigabyte;
  knob.unit = "GB/s of memory bandwidth";
  return knob;
}

// GB/s over the bus by which an all-reduce of a large message runs: 2 (n - 1) / n bytes a second.
std::optional<double> bus_bandwidth(Deployment& deployment) {
  for (const OpLine& line : deployment.price(deployment.decode_shape(1, 1))) {
    if (line.call.op != Op::all_reduce) continue;
    OpCall large = line.call;
    large.bytes = kLargeMessage;
    try {
      const double seconds = deployment.costs().cost(large).seconds.value;
      if (seconds > 0)
        return 2.0 * (large.ranks - 1) / large.ranks * large.bytes / seconds / kGigabyte;
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Knob all_reduce(Deployment& deployment) {
  const Scenario& scenario = deployment.scenario();
  Knob knob{"all_reduce", "all-reduces in half the time",
            scaled(scenario, {"all_reduce_scale"}, 0.5)};
  if (const auto rate = bus_bandwidth(deployment)) {
    knob.nudge = scaled(scenario, {"bus_bandwidth_scale"}, kNudge);
    knob.amount = (kNudge - 1) * *rate;
    knob.unit = "GB/s of bus bandwidth";
  }
  return knob;
}

Knob host(const Scenario& scenario, const Report& report) {
  if (uses_graphs(report))
    return {"host", "the host in half the time", scaled(scenario, {"host_scale"}, 0.5)};
  return {"host", "host and launches in half the time",
          scaled(scenario, {"host_scale", "launch_scale"}, 0.5)};
}

Knob request_rate(double rate) {
  const auto at = [](double requests) {
    return Sets{fmt::format("workload.request_rate={} requests/s", requests)};
  };
  const double more = rate / kNudgeShare;
  return {"load",
          fmt::format("{} requests/s", compact(2 * rate)),
          at(2 * rate),
          false,
          at(rate + more),
          {},
          more,
          "request/s"};
}

Knob clients(const Scenario& scenario) {
  const WorkloadConfig& workload = scenario.workload;
  const auto with = [&](std::int64_t more) {
    const std::int64_t n = workload.concurrency + more;
    Sets sets = {set("workload.concurrency", n)};
    if (workload.requests_per_client <= 0)
      sets.push_back(set("workload.requests", workload.requests * n / workload.concurrency));
    return sets;
  };
  const std::int64_t more = std::max<std::int64_t>(1, workload.concurrency / kNudgeShare);
  return {"load",
          count(2 * std::int64_t{workload.concurrency}) + " clients",
          with(workload.concurrency),
          false,
          with(more),
          {},
          static_cast<double>(more),
          "client"};
}

void add_power(const Deployment& deployment, std::vector<Knob>* knobs) {
  const HardwareConfig& hardware = deployment.scenario().hardware;
  if (!deployment.costs().clock().known()) return;
  if (hardware.power_limit_w || hardware.sm_clock_mhz) {
    Sets sets;
    if (hardware.power_limit_w) sets.push_back("hardware.power_limit=~");
    if (hardware.sm_clock_mhz) sets.push_back("hardware.sm_clock=~");
    knobs->push_back({"power_cap", "no cap and no fixed clock", sets});
  }
  const double limit = std::round(deployment.costs().device().power_limit_w / 2);
  if (limit <= 0) return;
  const auto cap = [](double watts) {
    return Sets{fmt::format("hardware.power_limit={:.0f} W", watts)};
  };
  knobs->push_back({"power_cap", fmt::format("a cap of {:.0f} W", limit), cap(limit), true,
                    cap(limit + kWattNudge), cap(limit), kWattNudge,
                    fmt::format("W of cap, at {:.0f} W", limit)});
}

void add_prices(const Scenario& scenario, std::vector<Knob>* knobs) {
  if (scenario.model.moe_layers() > 0) {
    knobs->push_back({"experts_touched", "half as many experts touched",
                      scaled(scenario, {"active_experts_scale"}, 0.5), true});
    knobs->push_back({"moe", "expert kernels in half the time",
                      scaled(scenario, {"moe_time_scale"}, 0.5), true});
  }
  knobs->push_back({"attention", "attention kernels in half the time",
                    scaled(scenario, {"attention_time_scale"}, 0.5), true});
  knobs->push_back({"dense_gemm", "dense GEMMs in half the time",
                    scaled(scenario, {"dense_gemm_time_scale"}, 0.5), true});
}

}  // namespace

bool is_hypothetical(const Sets& sets) {
  return std::any_of(sets.begin(), sets.end(),
                     [](const std::string& text) { return text.rfind("hypothetical.", 0) == 0; });
}

std::vector<Knob> knobs_of(Deployment& deployment, const Report& report) {
  const Scenario& scenario = deployment.scenario();
  std::vector<Knob> knobs = {kv_pool(deployment, report), running_cap(deployment)};
  if (is_sglang(scenario)) knobs.push_back(admission(scenario));
  if (deployment.engine().limits.chunk_tokens > 0 || is_sglang(scenario))
    knobs.push_back(token_budget(deployment));
  if (auto graphs = captured_batch(deployment, report)) knobs.push_back(*graphs);
  knobs.push_back(kernel_floor(scenario, report));
  knobs.push_back(weight_streaming(deployment));
  knobs.push_back(
      {"compute", "tensor cores twice as fast", scaled(scenario, {"tensor_rate_scale"}, 2)});
  if (scenario.parallel.tp > 1) knobs.push_back(all_reduce(deployment));
  knobs.push_back(host(scenario, report));
  if (scenario.workload.client == WorkloadConfig::Client::closed_loop)
    knobs.push_back(clients(scenario));
  if (scenario.workload.request_rate)
    knobs.push_back(request_rate(*scenario.workload.request_rate));
  add_power(deployment, &knobs);
  add_prices(scenario, &knobs);
  return knobs;
}

}  // namespace plateau
