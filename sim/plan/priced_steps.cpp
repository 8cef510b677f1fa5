#include "sim/plan/priced_steps.h"

#include <algorithm>
#include <string_view>

namespace plateau {

namespace {

// They decide which steps run, not what one of a given shape costs; whether it replays a graph, and
// padded to what, is part of the shape.
constexpr std::string_view kFree[] = {
    "engine.max_running_requests", "engine.chunked_prefill_size",
    "engine.max_prefill_tokens",   "engine.mem_fraction_static",
    "engine.kv_pool_tokens",       "engine.schedule_conservativeness",
    "engine.cuda_graph_max_bs",    "engine.cuda_graph_bs",
    "engine.disable_cuda_graph",   "engine.disable_cuda_graph_padding",
    "engine.disable_radix_cache",  "engine.enable_mixed_chunk",
    "parallel.replicas",           "parallel.balancer",
    "workload.concurrency",        "workload.requests",
    "workload.request_rate",       "workload.rate_scale",
    "workload.burstiness",         "workload.input_length",
    "workload.output_length"};

bool is_free(std::string_view set) {
  const std::string_view key = set.substr(0, set.find('='));
  return std::find(std::begin(kFree), std::end(kFree), key) != std::end(kFree);
}

}  // namespace

std::string PricedSteps::pricing_of(const std::vector<std::string>& sets) {
  std::string text;
  for (const std::string& set : sets) {
    if (!is_free(set)) text += set + "\n";
  }
  return text;
}

StepPrice PricedSteps::price(const std::string& pricing, Deployment& deployment,
                             const StepShape& shape, int* fresh) {
  const Shape key = {shape.decode_sequences,  shape.decode_padded,    shape.decode_context_tokens,
                     shape.prefill_sequences, shape.prefill_tokens,   shape.prefill_context_tokens,
                     shape.prefill_attended,  shape.graph ? 1.0 : 0.0};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = prices_.find({pricing, key});
    if (found != prices_.end()) return found->second;
  }
  const StepCost& cost = deployment.cost(shape);
  const StepPrice price{cost.seconds, cost.joules};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (prices_.emplace(std::pair(pricing, key), price).second) ++*fresh;
  return price;
}

}  // namespace plateau
