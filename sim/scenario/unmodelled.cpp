#include "sim/scenario/unmodelled.h"

#include <array>
#include <string>

namespace plateau {

namespace {

constexpr std::string_view kAny = "*";  // any value but false and none
constexpr std::string_view kMoreThanOne = ">1";

struct Unmodelled {
  std::string_view section;
  std::string_view key;
  std::string_view value;
  std::string_view what;
  std::string_view hint = "";
};

constexpr std::array kUnmodelled = {
    Unmodelled{"engine", "kind", "vllm", "vLLM's scheduler", "modelled: sglang, simple"},
    Unmodelled{"engine", "kind", "trtllm", "TensorRT-LLM's scheduler", "modelled: sglang, simple"},
    Unmodelled{"parallel", "pp", kMoreThanOne, "pipeline parallelism", "only pp: 1"},
    Unmodelled{"parallel", "ep", kMoreThanOne, "expert parallelism", "only ep: 1"},
    Unmodelled{"parallel", "attention_dp", kMoreThanOne, "data-parallel attention",
               "only attention_dp: 1"},
    Unmodelled{"engine", "speculative_algorithm", kAny, "speculative decoding"},
    Unmodelled{"engine", "disaggregation_mode", kAny, "separate prefill and decode servers"},
    Unmodelled{"engine", "enable_dp_attention", kAny, "data-parallel attention"},
    Unmodelled{"engine", "enable_eplb", kAny, "expert load balancing by the engine"},
    Unmodelled{"engine", "enable_two_batch_overlap", kAny, "two-batch overlap"},
    Unmodelled{"engine", "enable_hierarchical_cache", kAny, "KV cache in host memory"},
    Unmodelled{"engine", "enable_prefill_delayer", kAny, "the prefill delayer"},
    Unmodelled{"engine", "enable_piecewise_cuda_graph", kAny, "CUDA graphs of prefill"},
    Unmodelled{"engine", "max_total_tokens", kAny, "a cap on the KV pool", "give kv_pool_tokens"},
    Unmodelled{"engine", "context_length", kAny, "a context shorter than the model's"},
    Unmodelled{"engine", "schedule_policy", "lof", "this order of the queue", "only fcfs"},
    Unmodelled{"engine", "schedule_policy", "random", "this order of the queue", "only fcfs"},
    Unmodelled{"engine", "schedule_policy", "routing-key", "this order of the queue", "only fcfs"},
};

bool asks_for(const Unmodelled& entry, const std::string& text) {
  if (entry.value == kAny) return text != "false" && text != "none";
  if (entry.value == kMoreThanOne) {
    const auto number = parse_integer(text);
    return number && *number > 1 && *number <= 100'000;  // an absurd count is told its range
  }
  return text == entry.value;
}

}  // namespace

void refuse_unmodelled(std::string_view section, ConfigReader* reader) {
  for (const Unmodelled& entry : kUnmodelled) {
    if (entry.section != section || !reader->has(entry.key)) continue;
    const ConfigNode* node = reader->raw(entry.key);
    if (node->kind == ConfigNode::Kind::scalar && !asks_for(entry, node->text)) continue;
    if (node->kind != ConfigNode::Kind::scalar && entry.value != kAny) continue;
    reader->complain(entry.key, "not modelled yet: " + std::string(entry.what),
                     std::string(entry.hint));
  }
}

bool is_unmodelled(std::string_view section, std::string_view key, std::string_view value) {
  for (const Unmodelled& entry : kUnmodelled) {
    if (entry.section == section && entry.key == key && asks_for(entry, std::string(value)))
      return true;
  }
  return false;
}

}  // namespace plateau
