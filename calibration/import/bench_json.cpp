// Results of sglang.bench_serving (JSON Lines), `vllm bench serve` and the older benchmark_serving.
#include <algorithm>
#include <array>
#include <set>

#include "calibration/import/bench_columns.h"
#include "calibration/import/formats.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/server_info.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

constexpr std::array<std::string_view, 9> kWords = {"tag",          "backend", "dataset_name",
                                                    "model_id",     "label",   "endpoint_type",
                                                    "tokenizer_id", "date",    "model"};

// Per-request arrays; times in seconds.
struct PerRequest {
  std::vector<double> input;
  std::vector<double> output;
  std::vector<double> ttft;
  std::vector<double> start;
  std::vector<double> decode;  // sums of the gaps
};

class Visitor : public JsonVisitor {
 public:
  Visitor(Recorder& recorder, bool first) : recorder_(recorder), info_(recorder), first_(first) {}

  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    const std::string& key = path[0].key;
    if (path.depth() == 1) return scalar(key, value, line);
    if (key == "server_info") {
      info_.value(path, 1, value, line);
      return;
    }
    if (value.is_number()) array_value(path, key, value.number);
  }

  // Only a closed list of gaps adds up to a request's decode time.
  void close(const JsonPath& path, bool array, std::int64_t) override {
    if (!array || path.depth() != 2 || path[0].key != "itls") return;
    requests_.decode.push_back(gaps_);
    gaps_ = 0;
  }

  void row(std::int64_t line) {
    Series& series = recorder_.series("bench_runs");
    series.begin_row(recorder_.file(), line);
    for (const auto& [column, number] : numbers_) series.set(series.column(column), number);
    for (const auto& [column, word] : words_) series.set_word(series.column(column, true), word);
    if (series.end_row()) recorder_.row();
    requests(line);
  }

  void classify() {
    FileReport& report = recorder_.report();
    const auto has = [&](const char* key) { return keys_.count(key) > 0; };
    const bool sglang = has("total_throughput") || has("total_output_tokens_retokenized") ||
                        has("mean_e2e_latency_ms") || has("sharegpt_output_len") ||
                        has("random_range_ratio");
    const bool seconds = std::any_of(keys_.begin(), keys_.end(), [](const std::string& key) {
      return bench_column(key).factor != 1;
    });
    report.kind = sglang ? "sglang_bench" : "vllm_bench";
    report.engine = sglang ? "sglang" : "vllm";
    const auto backend = words_.find("backend");
    if (backend != words_.end() && backend->second.substr(0, 4) == "vllm") report.engine = "vllm";
    if (sglang) {
      report.era =
          has("p95_ttft_ms") ? "bench_serving JSONL (2026-07 or newer)" : "bench_serving JSONL";
    } else if (seconds) {
      report.era = "older benchmark_serving: times in seconds, turned into ms";
    } else {
      report.era = has("endpoint_type") ? "vllm bench serve" : "benchmark_serving";
    }
    for (const std::string& key : unknown_) {
      recorder_.warn(0, "unknown key '" + key + "' is kept as column " + column_name(key));
    }
  }

 private:
  void scalar(const std::string& key, const JsonValue& value, std::int64_t line) {
    keys_.insert(key);
    if (std::find(kWords.begin(), kWords.end(), key) != kWords.end()) {
      if (value.is_text()) words_.emplace(key, value.text);
      if (first_ && value.is_text() && (key == "model_id" || key == "model")) {
        recorder_.fact_text("model", value.text, line);
      }
      return;
    }
    if (value.is_text()) {
      if (key == "request_rate") words_.emplace("request_rate", value.text);
      return;
    }
    if (!value.is_number()) return;
    const BenchColumn column = bench_column(key);
    if (column.column.empty()) return;
    if (!column.known) unknown_.insert(key);
    const double number = value.number * column.factor;
    if (!numbers_.emplace(column.column, number).second) return;
    if (first_ && column.known) recorder_.fact("bench." + column.column, number, line);
  }

  void array_value(const JsonPath& path, const std::string& key, double number) {
    if (key == "itls" && path.depth() == 3) gaps_ += number;
    if (path.depth() != 2) return;
    if (key == "input_lens") requests_.input.push_back(number);
    if (key == "output_lens") requests_.output.push_back(number);
    if (key == "ttfts") requests_.ttft.push_back(number);
    if (key == "start_times") requests_.start.push_back(number);
  }

  void requests(std::int64_t line) {
    const std::size_t count =
        std::max({requests_.input.size(), requests_.output.size(), requests_.ttft.size()});
    if (count == 0) return;
    Series& series = recorder_.series("requests");
    double latency = 0;
    for (std::size_t i = 0; i < count; ++i) {
      series.begin_row(recorder_.file(), line);
      const auto set = [&](const char* column, const std::vector<double>& values) {
        if (i < values.size()) series.set(series.column(column), values[i]);
      };
      set("input_tokens", requests_.input);
      set("output_tokens", requests_.output);
      set("ttft_s", requests_.ttft);
      set("start_s", requests_.start);
      set("decode_s", requests_.decode);
      series.end_row();
      if (i < requests_.ttft.size()) latency += requests_.ttft[i];
      if (i < requests_.decode.size()) latency += requests_.decode[i];
    }
    const auto duration = numbers_.find("duration_s");
    if (numbers_.count("concurrency_requests") > 0 || duration == numbers_.end() || latency <= 0)
      return;
    recorder_.derive({"concurrency_requests", latency / duration->second, std::nullopt,
                      std::nullopt, "sum of the requests' latencies over the duration"});
  }

  Recorder& recorder_;
  ServerInfo info_;
  bool first_;
  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> words_;
  std::set<std::string> keys_;
  std::set<std::string> unknown_;
  PerRequest requests_;
  double gaps_ = 0;  // of the request whose list is open
};

}  // namespace

void import_bench_json(ByteSource& bytes, Recorder& recorder) {
  const bool lines = JsonStream::looks_like_lines(bytes.head());
  JsonStream stream(bytes, lines);
  bool first = true;
  for (;;) {
    Visitor visitor(recorder, first);
    const JsonEnd end = stream.next(visitor);
    if (end == JsonEnd::none) return;
    if (end == JsonEnd::broken) {
      recorder.fail(stream.line(), "is not JSON: " + stream.error(),
                    "give the file as the benchmark wrote it");
    }
    if (end == JsonEnd::cut) {
      recorder.warn(stream.start_line(),
                    "this result is cut off: the values before the cut are taken");
    }
    visitor.row(stream.start_line());
    if (first) visitor.classify();
    first = false;
  }
}

}  // namespace plateau::imports
