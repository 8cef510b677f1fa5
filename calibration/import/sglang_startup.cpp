// Start-up lines of SGLang: what was free, what the weights took, how large the pool became.
#include <algorithm>
#include <array>

#include "calibration/import/sglang_log.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Key {
  const char* key = nullptr;
  const char* fact = nullptr;
  End end = End::comma;
  const char* suffix = "";
};

struct Message {
  const char* phrase;
  std::array<Key, 6> keys;
  bool sums_up = false;
};

// The order matters where one phrase starts like another.
const Message kMessages[] = {
    {"Init torch distributed ends",
     {{{"mem usage=", "distributed_memory_gib", End::suffix, " GB"}}}},
    {"Load weight begin", {{{"avail mem=", "free_memory_before_weights_gib", End::suffix, " GB"}}}},
    {"Load weight end",
     {{{"elapsed=", "weights_load_s", End::suffix, " s"},
       {"avail mem=", "free_memory_after_weights_gib", End::suffix, " GB"},
       {"mem usage=", "weights_gib", End::suffix, " GB"}}}},
    {"KV Cache is allocated",
     {{{"#tokens: ", "kv_capacity_tokens", End::comma},
       {"KV size: ", "kv_cache_gib", End::suffix, " GB"},
       {"K size: ", "kv_cache_k_gib", End::suffix, " GB"},
       {"V size: ", "kv_cache_v_gib", End::suffix, " GB"}}}},
    {"Memory pool end", {{{"avail mem=", "free_memory_after_pool_gib", End::suffix, " GB"}}}},
    {"Capture cuda graph begin",
     {{{"avail mem=", "free_memory_before_graphs_gib", End::suffix, " GB"}}}},
    {"Capture cuda graph end",
     {{{"Time elapsed: ", "graph_capture_s", End::suffix, " s"},
       {"mem usage=", "graph_memory_gib", End::suffix, " GB"},
       {"avail mem=", "free_memory_after_graphs_gib", End::suffix, " GB"}}}},
    {"Capture target decode CUDA graph begin",
     {{{"num_tokens_per_req=", "graph_tokens_per_request", End::comma},
       {"avail mem=", "free_memory_before_graphs_gib", End::suffix, " GB"}}}},
    {"Capture target decode CUDA graph end",
     {{{"elapsed=", "graph_capture_s", End::suffix, " s"},
       {"mem usage=", "graph_memory_gib", End::suffix, " GB"},
       {"avail mem=", "free_memory_after_graphs_gib", End::suffix, " GB"}}}},
    {"Post-capture KV sizing",
     {{{"max_total_num_tokens=", "kv_capacity_tokens", End::comma},
       {"free memory=", "free_memory_after_graphs_gib", End::suffix, " GB"}}},
     true},
    {"max_total_num_tokens=",
     {{{"max_total_num_tokens=", "kv_capacity_tokens", End::comma},
       {"chunked_prefill_size=", "chunked_prefill_tokens", End::comma},
       {"max_prefill_tokens=", "max_prefill_tokens", End::comma},
       {"max_running_requests=", "max_running_requests", End::comma},
       {"context_len=", "context_len_tokens", End::line_end},
       {"available_gpu_mem=", "free_memory_at_start_gib", End::suffix, " GB"}}},
     true},
};

// Arguments of the server that shape its behaviour; `server_args=ServerArgs(model_path='...',
// ...)`.
constexpr const char* kArguments[] = {
    "model_path",
    "served_model_name",
    "quantization",
    "kv_cache_dtype",
    "context_length",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "enable_dp_attention",
    "mem_fraction_static",
    "page_size",
    "max_total_tokens",
    "max_running_requests",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "schedule_policy",
    "schedule_conservativeness",
    "disable_radix_cache",
    "disable_cuda_graph",
    "cuda_graph_max_bs",
    "disable_overlap_schedule",
    "enable_mixed_chunk",
    "decode_log_interval",
    "num_continuous_decode_steps",
    "attention_backend",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
};

constexpr std::string_view kServerArgs = "server_args=ServerArgs(";
constexpr std::string_view kCacheDtype = "Using KV cache dtype: ";
constexpr std::string_view kGraphSizes = "Capture cuda graph bs [";

bool starts_word(std::string_view text, std::size_t at) {
  return at == 0 ||
         (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 && text[at - 1] != '_');
}

// The value of name=value in a Python argument list; nothing when no comma or bracket ends it.
std::optional<std::string_view> argument(std::string_view text, std::string_view name) {
  const std::string key = std::string(name) + "=";
  for (std::size_t at = find_text(text, key); at != kNowhere; at = find_text(text, key, at + 1)) {
    if (!starts_word(text, at)) continue;
    const std::string_view rest = text.substr(at + key.size());
    const bool quoted = !rest.empty() && (rest[0] == '\'' || rest[0] == '"');
    const std::size_t end = quoted ? rest.find(rest[0], 1) : rest.find_first_of(",)");
    if (end == kNowhere) return std::nullopt;
    return quoted ? rest.substr(1, end - 1) : rest.substr(0, end);
  }
  return std::nullopt;
}

bool read_arguments(std::string_view text, const Line& line, const std::string& rank,
                    Recorder& recorder) {
  bool any = false;
  for (const char* name : kArguments) {
    const std::optional<std::string_view> value = argument(text, name);
    if (!value || *value == "None") continue;
    any = true;
    const std::string fact = std::string("server_args.") + name;
    if (const auto parsed = number(*value)) {
      recorder.fact(fact, *parsed, line.number, rank);
    } else {
      recorder.fact_text(fact, *value, line.number, rank);
    }
    if (std::string_view(name) == "model_path") {
      recorder.fact_text("model", *value, line.number, rank);
    }
  }
  return any;
}

// "[1, 2, 4]" kept as text; only a closed list is one.
bool read_list(std::string_view text, std::string_view open, const Line& line,
               const std::string& rank, Recorder& recorder) {
  const std::size_t at = find_text(text, open);
  if (at == kNowhere) return false;
  const std::string_view rest = text.substr(at + open.size());
  const std::size_t close = rest.find(']');
  if (close == kNowhere || rest.find_first_not_of("0123456789, ") != close) return false;
  recorder.fact_text("cuda_graph_bs", rest.substr(0, close), line.number, rank);
  return true;
}

bool read_message(const Message& message, std::string_view text, const Line& line,
                  const std::string& rank, bool ends_line, Recorder& recorder) {
  bool any = false;
  for (const Key& key : message.keys) {
    if (key.key == nullptr) break;
    const auto value =
        number_after(text, key.key, key.end, key.suffix, ends_line && line.terminated);
    if (!value) continue;
    recorder.fact(key.fact, *value, line.number, rank, message.sums_up);
    any = true;
  }
  return any;
}

struct Found {
  std::size_t at = 0;
  const Message* message = nullptr;
};

std::vector<Found> messages_of(std::string_view text) {
  std::vector<Found> found;
  for (const Message& message : kMessages) {
    const std::size_t at = find_text(text, message.phrase);
    if (at == kNowhere || !starts_word(text, at)) continue;
    // The summary's own phrase also stands inside the line that resizes the pool.
    const bool inside = std::any_of(found.begin(), found.end(), [&](const Found& other) {
      return std::string_view(other.message->phrase) == "Post-capture KV sizing" && at > other.at;
    });
    if (!inside) found.push_back({at, &message});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  return found;
}

}  // namespace

std::size_t find_sglang_message(std::string_view text) {
  std::size_t first = kNowhere;
  const auto consider = [&](std::string_view phrase) {
    first = std::min(first, find_text(text, phrase));
  };
  consider("#retracted_reqs:");
  consider(kServerArgs);
  consider(kCacheDtype);
  consider(kGraphSizes);
  for (const Message& message : kMessages) consider(message.phrase);
  return first;
}

int read_sglang_startup(std::string_view text, const Line& line, const SglangPrefix& prefix,
                        Recorder& recorder) {
  const std::string rank = prefix.label();
  const std::size_t arguments = find_text(text, kServerArgs);
  if (arguments != kNowhere) {
    return read_arguments(text.substr(arguments + kServerArgs.size() - 1), line, rank, recorder)
               ? 1
               : 0;
  }
  int messages = 0;
  const std::size_t dtype = find_text(text, kCacheDtype);
  if (dtype != kNowhere && line.terminated) {
    recorder.fact_text("kv_cache_dtype", trimmed(text.substr(dtype + kCacheDtype.size())),
                       line.number, rank);
    ++messages;
  }
  if (read_list(text, kGraphSizes, line, rank, recorder)) ++messages;
  const std::vector<Found> found = messages_of(text);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool last = i + 1 == found.size();
    const std::size_t end = last ? text.size() : found[i + 1].at;
    const std::string_view part = text.substr(found[i].at, end - found[i].at);
    bool any = read_message(*found[i].message, part, line, rank, last, recorder);
    any = read_list(part, " bs=[", line, rank, recorder) || any;
    if (any) ++messages;
  }
  return messages;
}

}  // namespace plateau::imports
