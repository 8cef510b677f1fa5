#include "calibration/import/server_info.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "calibration/import/formats.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 8> kTop = {{
    {"max_total_num_tokens", "kv_capacity_tokens"},
    {"max_running_requests", "max_running_requests"},
    {"chunked_prefill_size", "chunked_prefill_tokens"},
    {"max_prefill_tokens", "max_prefill_tokens"},
    {"context_length", "context_len_tokens"},
    {"version", "engine_version"},
    {"model_path", "model"},
    {"kv_cache_dtype", "kv_cache_dtype"},
}};

constexpr std::array<std::string_view, 24> kArguments = {"tp_size",
                                                         "dp_size",
                                                         "pp_size",
                                                         "ep_size",
                                                         "page_size",
                                                         "mem_fraction_static",
                                                         "max_total_tokens",
                                                         "served_model_name",
                                                         "quantization",
                                                         "schedule_policy",
                                                         "schedule_conservativeness",
                                                         "disable_radix_cache",
                                                         "disable_cuda_graph",
                                                         "cuda_graph_max_bs",
                                                         "disable_overlap_schedule",
                                                         "enable_mixed_chunk",
                                                         "enable_dp_attention",
                                                         "decode_log_interval",
                                                         "num_continuous_decode_steps",
                                                         "attention_backend",
                                                         "speculative_algorithm",
                                                         "speculative_num_steps",
                                                         "speculative_eagle_topk",
                                                         "speculative_num_draft_tokens"};

constexpr std::array<Pair, 8> kState = {{
    {"weight", "weights_gib"},
    {"kvcache", "kv_cache_gib"},
    {"token_capacity", "kv_capacity_tokens"},
    {"graph", "graph_memory_gib"},
    {"cuda_graph", "graph_memory_gib"},
    {"last_gen_throughput", "last_gen_throughput_tok_per_s"},
    {"effective_max_running_requests_per_dp", "max_running_requests_per_dp"},
    {"avg_spec_accept_length", "accept_len_tokens"},
}};

template <typename Table>
std::string_view find_in(const Table& table, std::string_view key) {
  for (const Pair& pair : table) {
    if (pair.first == key) return pair.second;
  }
  return {};
}

}  // namespace

bool ServerInfo::value(const JsonPath& path, std::size_t base, const JsonValue& value,
                       std::int64_t line) {
  const std::size_t depth = path.depth() - base;
  if (depth == 0) return false;
  if (depth == 1) return argument(path[base].key, value, line);
  if (path[base].key != "internal_states" || depth < 3) return false;
  const std::string rank = "DP" + std::to_string(path[base + 1].index);
  return state(path, base + 2, value, line, rank);
}

bool ServerInfo::argument(const std::string& key, const JsonValue& value, std::int64_t line) {
  std::string name(find_in(kTop, key));
  if (name.empty()) {
    if (std::find(kArguments.begin(), kArguments.end(), key) == kArguments.end()) return false;
    name = "server_args." + key;
  }
  if (value.kind == JsonValue::Kind::null) return false;
  if (value.is_text()) {
    recorder_.fact_text(name, value.text, line);
  } else {
    recorder_.fact(name, value.number, line);
  }
  return true;
}

bool ServerInfo::state(const JsonPath& path, std::size_t at, const JsonValue& value,
                       std::int64_t line, const std::string& rank) {
  if (!value.is_number()) return false;
  const std::string& key = path[at].key;
  const std::size_t left = path.depth() - at;
  if (key == "step_time_dict" && left >= 2) {
    const auto batch = number(path[at + 1].key);
    if (!batch) return false;
    Series& series = recorder_.series("step_times");
    series.begin_row(recorder_.file(), line);
    series.set(series.column("batch_requests"), *batch);
    series.set(series.column("step_s"), value.number);
    series.set(series.column("dp_rank"), static_cast<double>(path[at - 1].index));
    if (series.end_row()) recorder_.row();
    return true;
  }
  const bool memory = key == "memory_usage" && left == 2;
  const std::string_view fact = memory      ? find_in(kState, path[at + 1].key)
                                : left == 1 ? find_in(kState, key)
                                            : std::string_view();
  if (fact.empty()) return false;
  recorder_.fact(fact, value.number, line, rank);
  return true;
}

namespace {

class Visitor : public JsonVisitor {
 public:
  explicit Visitor(Recorder& recorder) : info_(recorder) {}
  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    any = info_.value(path, 0, value, line) || any;
  }
  bool any = false;

 private:
  ServerInfo info_;
};

}  // namespace

void import_server_info(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "/get_server_info";
  JsonStream stream(bytes, false);
  Visitor visitor(recorder);
  const JsonEnd end = stream.next(visitor);
  if (end == JsonEnd::broken) recorder.fail(stream.line(), "is not JSON: " + stream.error(), "");
  if (end == JsonEnd::cut) recorder.warn(stream.line(), "the file ends inside the document");
  if (visitor.any) recorder.row();
}

}  // namespace plateau::imports
