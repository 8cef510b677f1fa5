#include "models/what_if.h"

#include <algorithm>

namespace plateau {

namespace {

constexpr double kLatencyBytes = 1024;  // a message that costs a collective's latency and no more

double time_scale(const WhatIf& what_if, Part part) {
  switch (part) {
    case Part::attention:
      return what_if.attention_time;
    case Part::dense_gemm:
      return what_if.dense_gemm_time;
    case Part::moe:
      return what_if.moe_time;
    case Part::norm_etc:
      return what_if.norm_etc_time;
    case Part::lm_head:
      return what_if.lm_head_time;
    default:
      return 1;
  }
}

LaunchLaw scaled(const LaunchLaw& law, double launch, double host) {
  LaunchLaw result = law;
  for (Estimate* gap : {&result.graph_gap, &result.graph_layer, &result.graph_step,
                        &result.eager_gap, &result.eager_layer, &result.eager_kernel_launch,
                        &result.eager_layer_host, &result.eager_step}) {
    *gap = *gap * launch;
  }
  for (Estimate* step : {&result.host_step, &result.host_request, &result.host_slow})
    *step = *step * host;
  return result;
}

}  // namespace

bool WhatIf::real() const {
  const auto& keys = what_if_keys();
  return std::all_of(keys.begin(), keys.end(),
                     [this](const WhatIfKey& key) { return this->*key.scale == 1; });
}

const std::vector<WhatIfKey>& what_if_keys() {
  static const std::vector<WhatIfKey> kKeys = {
      {"active_experts_scale", &WhatIf::active_experts, 0,
       "a batch touches this many times as many distinct experts, between top_k and all of them"},
      {"all_reduce_scale", &WhatIf::all_reduce, 0,
       "an all-reduce takes this many times its measured time"},
      {"attention_time_scale", &WhatIf::attention_time, 0,
       "attention kernels take this many times their measured time"},
      {"bus_bandwidth_scale", &WhatIf::bus_bandwidth, 0.001,
       "the time of a collective above its latency is divided by this"},
      {"dense_gemm_time_scale", &WhatIf::dense_gemm_time, 0,
       "dense GEMMs take this many times their measured time"},
      {"host_scale", &WhatIf::host, 0,
       "the host needs this many times its measured time between steps"},
      {"kernel_floor_scale", &WhatIf::kernel_floor, 0,
       "the time of each kernel above its roofline is multiplied by this"},
      {"launch_scale", &WhatIf::launch, 0,
       "the gaps between kernels and the CPU's launches are multiplied by this"},
      {"lm_head_time_scale", &WhatIf::lm_head_time, 0,
       "the head and sampling take this many times their measured time"},
      {"memory_bandwidth_scale", &WhatIf::memory_bandwidth, 0.001,
       "kernels stream their bytes this many times as fast, where bytes are their roof"},
      {"moe_time_scale", &WhatIf::moe_time, 0,
       "expert kernels take this many times their measured time"},
      {"norm_etc_time_scale", &WhatIf::norm_etc_time, 0,
       "element-wise passes take this many times their measured time"},
      {"tensor_rate_scale", &WhatIf::tensor_rate, 0.001,
       "kernels do their arithmetic this many times as fast, where arithmetic is their roof"},
  };
  return kKeys;
}

ExpertLoad what_if_load(const WhatIf& what_if, const ExpertLoad& load, int experts, int top_k) {
  if (what_if.active_experts == 1 || load.active_experts <= 0) return load;
  ExpertLoad result = load;
  const double fewest = std::min(load.active_experts, static_cast<double>(top_k));
  result.active_experts = std::clamp(load.active_experts * what_if.active_experts, fewest,
                                     static_cast<double>(std::max(experts, top_k)));
  return result;
}

WhatIfCosts::WhatIfCosts(const WhatIf& what_if, const KernelCosts& measured)
    : what_if_(what_if),
      measured_(&measured),
      launch_(scaled(measured.launch(), what_if.launch, what_if.host)),
      roofs_change_(what_if.memory_bandwidth != 1 || what_if.tensor_rate != 1 ||
                    what_if.kernel_floor != 1) {}

OpCost WhatIfCosts::cost(const OpCall& call) const {
  OpCost cost = measured_->cost(call);
  const double seconds = cost.seconds.value;
  const bool collective = call.op == Op::all_reduce || call.op == Op::all_gather;
  const double factor = (collective      ? collective_factor(call, seconds)
                         : roofs_change_ ? kernel_factor(call, seconds)
                                         : 1) *
                        time_scale(what_if_, call.part);
  if (factor != 1) cost.seconds = cost.seconds * factor;
  return cost;
}

double WhatIfCosts::collective_factor(const OpCall& call, double seconds) const {
  const double scale = call.op == Op::all_reduce ? what_if_.all_reduce : 1;
  if (what_if_.bus_bandwidth == 1 || seconds <= 0) return scale;
  OpCall small = call;
  small.bytes = std::min(call.bytes, kLatencyBytes);
  const double latency = std::min(seconds, measured_->cost(small).seconds.value);
  return scale * (latency + (seconds - latency) / what_if_.bus_bandwidth) / seconds;
}

double WhatIfCosts::kernel_factor(const OpCall& call, double seconds) const {
  if (seconds <= 0) return 1;
  const DeviceSpec& gpu = device();
  const Work work = work_of(call);
  const double peak = gpu.peak_flops(call.weights);
  const double memory = gpu.memory_bandwidth > 0 ? work.bytes / gpu.memory_bandwidth : 0;
  const double arithmetic = peak > 0 ? work.flops / peak : 0;
  const double larger = std::max(memory, arithmetic);
  const double roof = std::min(seconds, larger);
  const double moved =
      larger > 0
          ? std::max(memory / what_if_.memory_bandwidth, arithmetic / what_if_.tensor_rate) / larger
          : 1;
  return (roof * moved + (seconds - roof) * what_if_.kernel_floor) / seconds;
}

}  // namespace plateau
