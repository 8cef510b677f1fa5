#include "calibration/import/vllm_log.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Key {
  const char* key;
  const char* column;
  const char* suffix;
};

constexpr Key kStats[] = {
    {"Avg prompt throughput: ", "prompt_throughput_tok_per_s", " tokens/s"},
    {"Avg generation throughput: ", "gen_throughput_tok_per_s", " tokens/s"},
    {"Running: ", "running_requests", " reqs"},
    {"Waiting: ", "waiting_requests", " reqs"},
    {"Pending: ", "waiting_requests", " reqs"},
    {"Swapped: ", "swapped_requests", " reqs"},
    {"Deferred: ", "deferred_requests", " reqs"},
    {"Preemptions: ", "preempted_requests", ","},
    {"GPU KV cache usage: ", "kv_usage_pct", "%"},
    {"CPU KV cache usage: ", "cpu_kv_usage_pct", "%"},
    {"Prefix cache hit rate: ", "prefix_hit_pct", "%"},
    {"External prefix cache hit rate: ", "external_prefix_hit_pct", "%"},
    {"MM cache hit rate: ", "mm_cache_hit_pct", "%"},
};

constexpr Key kIteration[] = {
    {"): ", "context_requests", " context requests"},
    {"context requests, ", "context_tokens", " context tokens"},
    {"context tokens, ", "generation_requests", " generation requests"},
    {"generation requests, ", "generation_tokens", " generation tokens"},
    {"iteration elapsed time: ", "step_ms", " ms"},
    {"GPU KV cache usage: ", "kv_usage_pct", "%"},
};

constexpr Key kSpec[] = {
    {"Mean acceptance length: ", "accept_len_tokens", ","},
    {"Accepted throughput: ", "accepted_tok_per_s", " tokens/s"},
    {"Drafted throughput: ", "drafted_tok_per_s", " tokens/s"},
    {"Accepted: ", "accepted_tokens", " tokens"},
    {"Drafted: ", "drafted_tokens", " tokens"},
    {"Avg Draft acceptance rate: ", "draft_accept_pct", "%"},
};

// Start-up: key and unit make the message. GB of this engine is GiB.
constexpr Key kFacts[] = {
    {"Model loading took ", "weights_gib", " GiB"},
    {"Model loading took ", "weights_gib", " GB"},
    {"Loading model weights took ", "weights_gib", " GB"},
    {"Loading model weights took ", "weights_gib", " GiB"},
    {"Available KV cache memory: ", "available_kv_cache_gib", " GiB"},
    {"GPU KV cache size: ", "kv_capacity_tokens", " tokens"},
    {"Graph capturing finished in ", "graph_capture_s", " sec"},
    {"max_num_batched_tokens=", "max_batched_tokens", "."},
    {"total_gpu_memory=", "gpu_memory_gib", "GiB"},
    {"initial_memory_usage=", "initial_memory_gib", "GiB"},
    {"peak_torch_memory=", "peak_torch_memory_gib", "GiB"},
    {"non_torch_memory=", "non_torch_memory_gib", "GiB"},
    {"kv_cache_size=", "available_kv_cache_gib", "GiB"},
    {"GPU blocks: ", "kv_capacity_blocks", ","},
};

void set_all(Series& series, std::string_view text, const Key* keys, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = number_after(text, keys[i].key, End::suffix, keys[i].suffix);
    if (value) series.set(series.column(keys[i].column), *value);
  }
}

std::string text_of(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

struct VllmLog::Message {
  const char* phrase;
  bool (VllmLog::*read)(const Part& part);
  bool v0;
};

const VllmLog::Message VllmLog::kMessages[] = {
    {"Avg prompt throughput:", &VllmLog::engine_stats, false},
    {"Iteration(", &VllmLog::iteration, false},
    {"SpecDecoding metrics:", &VllmLog::spec_decoding, false},
    {"Model loading took ", &VllmLog::startup, false},
    {"Loading model weights took ", &VllmLog::startup, false},
    {"Available KV cache memory: ", &VllmLog::startup, false},
    {"GPU KV cache size: ", &VllmLog::startup, false},
    {"Maximum concurrency for ", &VllmLog::startup, false},
    {"Graph capturing finished", &VllmLog::startup, false},
    {"Chunked prefill is enabled with", &VllmLog::startup, false},
    {"Initializing a V1 LLM engine", &VllmLog::startup, false},
    {"Initializing an LLM engine", &VllmLog::startup, true},
    {"vLLM API server version ", &VllmLog::startup, false},
    {"Memory profiling results:", &VllmLog::startup, true},
    {"GPU blocks: ", &VllmLog::startup, true},
    {"is preempted by PreemptionMode", &VllmLog::preemption, true},
};

std::size_t find_vllm_message(std::string_view text, bool& v0) {
  std::size_t first = kNowhere;
  v0 = false;
  for (const auto* phrase :
       {"Avg prompt throughput:", "SpecDecoding metrics:", "Available KV cache memory: ",
        "GPU KV cache size: ", "Maximum concurrency for ", "Model loading took ",
        "Loading model weights took ", "vLLM API server version ",
        "Initializing a V1 LLM engine"}) {
    first = std::min(first, find_text(text, phrase));
  }
  if (contains(text, "iteration elapsed time:"))
    first = std::min(first, find_text(text, "Iteration("));
  for (const auto* phrase : {"Memory profiling results: total_gpu_memory",
                             "GPU blocks: ", "is preempted by PreemptionMode", "Swapped: "}) {
    const std::size_t at = find_text(text, phrase);
    if (at == kNowhere) continue;
    v0 = true;
    first = std::min(first, at);
  }
  return first;
}

void VllmLog::line(const Line& line) {
  if (trimmed(line.text).empty()) return;
  struct Found {
    std::size_t at;
    const Message* message;
  };
  std::vector<Found> found;
  for (const Message& message : kMessages) {
    const std::string_view phrase = message.phrase;
    for (std::size_t at = find_text(line.text, phrase); at != kNowhere;
         at = find_text(line.text, phrase, at + phrase.size())) {
      found.push_back({at, &message});
    }
  }
  if (found.empty()) {
    if (contains(line.text, "#running-req:") || contains(line.text, "max_total_num_tokens=")) {
      recorder_.fail(line.number, "an SGLang line in a vLLM log: two engines wrote to this file",
                     "split the file by engine and import the parts");
    }
    return recorder_.other_message(line.text, line.number);
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  std::size_t start = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool last = i + 1 == found.size();
    const std::size_t end = last ? line.text.size() : found[i + 1].at;
    Part part{line.text.substr(found[i].at, end - found[i].at),
              line.text.substr(start, found[i].at - start), line.number, last && line.terminated};
    start = found[i].at;
    if (found[i].message->v0 && !v0_line_) v0_line_ = line.number;
    if ((this->*found[i].message->read)(part)) {
      recorder_.row();
    } else {
      recorder_.ignore("messages without a complete value", line.number);
    }
  }
}

// The date closest before the message.
void VllmLog::time(Series& series, const Part& part) {
  const std::size_t column = series.column(column_of(Clock::no_year));
  for (std::size_t at = part.before.size(); at-- > 0;) {
    if (part.before[at] != '-' || at < 2) continue;
    const auto found = leading_month_day_time(part.before.substr(at - 2));
    if (!found) continue;
    series.set(column, found->value);
    clock_.see(found->value, part.line);
    recorder_.time(Clock::no_year, found->value);
    return;
  }
}

bool VllmLog::engine_stats(const Part& part) {
  Series& series = recorder_.series("engine_stats");
  series.column(column_of(Clock::no_year));
  const std::size_t engine = series.column("engine");
  series.begin_row(recorder_.file(), part.line);
  set_all(series, part.text, kStats, std::size(kStats));
  if (!series.row_has_cells()) return false;
  const bool v0 = contains(part.text, "Swapped:") || contains(part.text, "CPU KV cache usage:");
  if (v0 && !v0_line_) v0_line_ = part.line;
  if (!v0) v1_ = true;
  const auto index = number_after(part.before, "Engine ", End::suffix, ":");
  if (index) {
    series.set(engine, *index);
    engines_.insert(*index);
  }
  time(series, part);
  return series.end_row();
}

bool VllmLog::iteration(const Part& part) {
  Series& series = recorder_.series("iterations");
  series.begin_row(recorder_.file(), part.line);
  set_all(series, part.text, kIteration, std::size(kIteration));
  if (!series.row_has_cells()) return false;
  if (const auto index = number_after(part.text, "Iteration(", End::suffix, ")")) {
    series.set(series.column("iteration"), *index);
  }
  if (contains(part.text, "(dummy)")) series.set(series.column("dummy"), 1);
  iterations_ = v1_ = true;
  time(series, part);
  return series.end_row();
}

bool VllmLog::spec_decoding(const Part& part) {
  Series& series = recorder_.series("spec_decoding");
  series.begin_row(recorder_.file(), part.line);
  set_all(series, part.text, kSpec, std::size(kSpec));
  constexpr std::string_view kPositions = "Per-position acceptance rate: ";
  const std::size_t at = find_text(part.text, kPositions);
  if (at != kNowhere) {
    std::string_view rest = part.text.substr(at + kPositions.size());
    for (int position = 1; position <= 64; ++position) {
      const auto rate = leading_number(rest);
      if (!rate) break;
      const bool more = rest.substr(rate->length, 2) == ", ";
      if (!more && !(rest.size() == rate->length && part.newline)) break;
      series.set(series.column("position_" + std::to_string(position) + "_accept_share"),
                 rate->value);
      if (!more) break;
      rest.remove_prefix(rate->length + 2);
    }
  }
  if (!series.row_has_cells()) return false;
  v1_ = true;
  time(series, part);
  return series.end_row();
}

bool VllmLog::startup(const Part& part) {
  bool any = false;
  std::set<std::string> given;
  for (const Key& key : kFacts) {
    const auto value = number_after(part.text, key.key, End::grouped_suffix, key.suffix);
    const auto plain = number_after(part.text, key.key, End::suffix, key.suffix);
    const std::optional<double> read = plain ? plain : value;
    if (!read || !given.insert(key.column).second) continue;
    recorder_.fact(key.column, *read, part.line);
    any = true;
  }
  const auto length =
      number_after(part.text, "Maximum concurrency for ", End::grouped_suffix, " tokens");
  if (length) recorder_.fact("context_len_tokens", *length, part.line);
  const auto concurrency = number_after(part.text, "tokens per request: ", End::suffix, "x");
  if (concurrency) recorder_.fact("max_concurrency_requests", *concurrency, part.line);
  const auto seconds = number_after(part.text, "memory and ", End::suffix, " seconds");
  if (seconds) recorder_.fact("weights_load_s", *seconds, part.line);
  const auto graphs = number_after(part.text, "secs, took ", End::suffix, " GiB");
  if (graphs) recorder_.fact("graph_memory_gib", *graphs, part.line);
  any = any || length || concurrency;
  const auto word = [&](std::string_view open, std::string_view close, const char* fact) {
    const std::size_t at = find_text(part.text, open);
    if (at == kNowhere) return;
    const std::string_view rest = part.text.substr(at + open.size());
    const std::size_t end = rest.find(close);
    constexpr std::size_t kLongest = 300;
    if (end == kNowhere || end == 0 || end > kLongest) return;
    recorder_.fact_text(fact, rest.substr(0, end), part.line);
    any = true;
  };
  word("LLM engine (v", ")", "engine_version");
  constexpr std::string_view kVersion = "vLLM API server version ";
  const std::size_t version = find_text(part.text, kVersion);
  if (version != kNowhere && part.newline) {
    recorder_.fact_text("engine_version", trimmed(part.text.substr(version + kVersion.size())),
                        part.line);
    any = true;
  }
  word("model='", "'", "model");
  word("kv_cache_dtype=", ",", "kv_cache_dtype");
  const auto tp = number_after(part.text, "tensor_parallel_size=", End::comma);
  if (tp) recorder_.fact("tp_size", *tp, part.line);
  if (contains(part.text, "KV cache") || contains(part.text, "V1 LLM engine")) v1_ = v1_ || any;
  return any;
}

bool VllmLog::preemption(const Part& part) {
  const auto total =
      number_after(part.text, "total_num_cumulative_preemption=", End::line_end, "", part.newline);
  if (!total) return false;
  Series& series = recorder_.series("preemption");
  series.begin_row(recorder_.file(), part.line);
  series.set(series.column("preempted_total_requests"), *total);
  time(series, part);
  return series.end_row();
}

// V0 gives its pool in blocks, whose size stands nowhere; the stated concurrency tells it.
void VllmLog::derive_pool_of_blocks() {
  const auto mine = [&](const char* name) -> std::optional<double> {
    for (const Fact& fact : recorder_.measurement().facts) {
      if (fact.file == recorder_.file() && fact.name == name) return fact.number;
    }
    return std::nullopt;
  };
  const auto blocks = mine("kv_capacity_blocks");
  const auto length = mine("context_len_tokens");
  const auto concurrency = mine("max_concurrency_requests");
  if (!blocks || !length || !concurrency || *blocks <= 0) return;
  constexpr double kHalfDigit = 0.005;
  recorder_.derive({"kv_capacity_tokens", *concurrency * *length,
                    (*concurrency - kHalfDigit) * *length, (*concurrency + kHalfDigit) * *length,
                    "maximum concurrency (two decimals) times its length; " + text_of(*blocks) +
                        " blocks of unstated size"});
}

// Pool over length must give the concurrency; a hybrid model's "size" is not tokens.
void VllmLog::check_pool() {
  const Fact* first = nullptr;
  const Fact* pool = nullptr;
  const Fact* length = nullptr;
  bool warned = false;
  for (const Fact& fact : recorder_.measurement().facts) {
    if (fact.file != recorder_.file() || !fact.number) continue;
    if (fact.name == "context_len_tokens") length = &fact;
    if (fact.name == "kv_capacity_tokens") {
      pool = &fact;
      if (first == nullptr) first = &fact;
      if (*first->number != *fact.number && !warned) warn_of_another_pool(*first, fact);
      warned = warned || *first->number != *fact.number;
    }
    if (fact.name != "max_concurrency_requests" || pool == nullptr || length == nullptr) continue;
    compare_concurrency(*pool->number, *length->number, fact);
    pool = nullptr;
  }
}

void VllmLog::warn_of_another_pool(const Fact& first, const Fact& other) {
  recorder_.warn(other.line,
                 "another pool size (" + text_of(*other.number) + " tokens; line " +
                     std::to_string(first.line) + " says " + text_of(*first.number) +
                     "): two servers in one log; the facts are those of the first, split "
                     "the log here to get the other");
}

void VllmLog::compare_concurrency(double pool, double length, const Fact& concurrency) {
  if (length <= 0) return;
  constexpr double kTolerance = 0.02;
  constexpr double kRounding = 0.01;
  const double expected = pool / length;
  if (std::abs(expected - *concurrency.number) <= kTolerance * expected + kRounding) return;
  recorder_.warn(
      concurrency.line,
      "a pool of " + text_of(pool) + " tokens holds " + text_of(expected) + " requests of " +
          text_of(length) + " tokens, but the log says " + text_of(*concurrency.number) +
          ": a hybrid model, whose pool size is not a count of tokens; go by the concurrency");
}

void VllmLog::finish() {
  clock_.finish(recorder_);
  check_pool();
  derive_pool_of_blocks();
  FileReport& report = recorder_.report();
  report.gpus = 0;
  report.era =
      v0_line_ ? (v1_ ? "V0 and V1" : "V0") : (iterations_ ? "V1 (2026-07 or newer)" : "V1");
  if (!v0_line_) return;
  recorder_.warn(
      *v0_line_,
      "lines of the V0 engine: statistics are mapped (Pending = waiting), but its scheduler "
      "(swapping, other admission) is not modelled; measure with a V1 engine (vLLM 0.8 or "
      "newer) to compare");
}

}  // namespace plateau::imports
