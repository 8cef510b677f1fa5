// Grids of a decode benchmark: results [{concurrency, context_tokens, aggregate_tps, ...}], prefill
// {tokens: {ttft_seconds, tok_per_sec}}, and a summary table that repeats the results.
#include <array>
#include <map>
#include <utility>

#include "calibration/import/formats.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Name {
  std::string_view key;
  std::string_view column;
};

constexpr Name kResult[] = {
    {"concurrency", "concurrency_requests"},
    {"context_tokens", "context_tokens"},
    {"aggregate_tps", "output_throughput_tok_per_s"},
    {"per_request_avg_tps", "per_request_tok_per_s"},
    {"ttft_avg", "mean_ttft_s"},
    {"ttft_p50", "median_ttft_s"},
    {"ttft_p99", "p99_ttft_s"},
    {"total_tokens", "total_output_tokens"},
    {"wall_time", "duration_s"},
    {"num_completed", "completed_requests"},
    {"num_errors", "failed_requests"},
    {"server_gen_throughput", "server_gen_throughput_tok_per_s"},
    {"server_utilization", "kv_usage_share"},
    {"avg_running_reqs", "mean_running_requests"},
    {"max_running_reqs", "peak_running_requests"},
    {"avg_queue_reqs", "mean_queue_requests"},
    {"max_queue_reqs", "peak_queue_requests"},
    {"queue_fraction", "queue_share"},
};

constexpr Name kPrefill[] = {{"ttft_seconds", "ttft_s"},
                             {"tok_per_sec", "prefill_throughput_tok_per_s"}};

class Visitor : public JsonVisitor {
 public:
  explicit Visitor(Recorder& recorder) : recorder_(recorder) {}

  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    const std::string& top = path[0].key;
    if (top == "metadata" && path.depth() == 2) return metadata(path[1].key, value, line);
    if (!value.is_number() || path.depth() != 3) return;
    if (top == "summary_table") return summary(path, value.number, line);
    row_line_ = path[2].line;
    if (top == "results" && !path[2].array) return result(path[2].key, value.number, line);
    if (top == "prefill") {
      row_series_ = "prefill_grid";
      if (const auto tokens = number(path[1].key)) cells_.emplace("input_tokens", *tokens);
      for (const Name& name : kPrefill) {
        if (path[2].key == name.key) cells_.emplace(std::string(name.column), value.number);
      }
    }
  }

  void close(const JsonPath& path, bool array, std::int64_t) override {
    if (!array && path.depth() == 2) emit();
  }

  // A cell that is missing among the results stands only in the summary.
  void finish() {
    emit();
    std::int64_t repeated = 0;
    for (const auto& [cell, value] : summary_) {
      const auto known = seen_.find(cell);
      if (known == seen_.end()) {
        Series& series = recorder_.series("decode_grid_summary");
        series.begin_row(recorder_.file(), value.second);
        series.set(series.column("context_tokens"), cell.first);
        series.set(series.column("concurrency_requests"), cell.second);
        series.set(series.column("output_throughput_tok_per_s"), value.first);
        if (series.end_row()) recorder_.row();
      } else if (known->second == value.first) {
        ++repeated;
      } else {
        recorder_.warn(value.second, "the summary table and the results disagree about this cell");
      }
    }
    if (repeated > 0) {
      recorder_.ignore("cells of the summary table that repeat the results", first_summary_line_,
                       repeated);
    }
  }

 private:
  void metadata(const std::string& key, const JsonValue& value, std::int64_t line) {
    if (value.is_text() && key == "engine") {
      recorder_.report().engine = lower(value.text);
    }
    if (value.is_text() && (key == "model" || key == "timestamp" || key == "engine")) {
      recorder_.fact_text(key, value.text, line);
    }
    if (value.is_number() && key == "duration_per_test")
      recorder_.fact("duration_per_test_s", value.number, line);
    if (value.is_number() && key == "max_tokens")
      recorder_.fact("max_output_tokens", value.number, line);
  }

  void result(const std::string& key, double number, std::int64_t line) {
    row_series_ = "decode_grid";
    if (key == "server_spec_accept_rate") {
      // A share above 1 is none: scripts of 2026-03 put the counter of accepted tokens here.
      if (number <= 1) {
        cells_.emplace("accept_rate_share", number);
        return;
      }
      cells_.emplace("accepted_tokens_counter", number);
      if (!warned_) {
        recorder_.warn(line,
                       "server_spec_accept_rate is above 1: a running counter, not a rate; kept as "
                       "accepted_tokens_counter");
      }
      warned_ = true;
      return;
    }
    for (const Name& name : kResult) {
      if (key == name.key) {
        cells_.emplace(std::string(name.column), number);
        return;
      }
    }
    recorder_.ignore("key '" + key.substr(0, 60) + "' of the results", line);
  }

  void summary(const JsonPath& path, double value, std::int64_t line) {
    const auto context = number(path[1].key);
    const auto concurrency = number(path[2].key);
    if (!context || !concurrency) return;
    if (first_summary_line_ == 0) first_summary_line_ = line;
    summary_.emplace(std::pair(*context, *concurrency), std::pair(value, line));
  }

  void remember() {
    const auto context = cells_.find("context_tokens");
    const auto concurrency = cells_.find("concurrency_requests");
    const auto value = cells_.find("output_throughput_tok_per_s");
    if (context == cells_.end() || concurrency == cells_.end() || value == cells_.end()) return;
    seen_[{context->second, concurrency->second}] = value->second;
  }

  // The row of the object that closed, or that the end of a cut file left open.
  void emit() {
    if (cells_.empty()) return;
    remember();
    Series& series = recorder_.series(row_series_);
    series.begin_row(recorder_.file(), row_line_);
    for (const auto& [column, number] : cells_) series.set(series.column(column), number);
    if (series.end_row()) recorder_.row();
    cells_.clear();
  }

  Recorder& recorder_;
  std::map<std::string, double> cells_;
  std::map<std::pair<double, double>, double> seen_;  // (context, concurrency)
  std::map<std::pair<double, double>, std::pair<double, std::int64_t>> summary_;
  std::int64_t first_summary_line_ = 0;
  std::int64_t row_line_ = 0;
  const char* row_series_ = "decode_grid";
  bool warned_ = false;
};

}  // namespace

void import_decode_grid(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "decode benchmark grid (2026-03)";
  JsonStream stream(bytes, false);
  Visitor visitor(recorder);
  const JsonEnd end = stream.next(visitor);
  if (end == JsonEnd::broken) {
    recorder.fail(stream.line(), "is not JSON: " + stream.error(),
                  "give the file as it was written");
  }
  if (end == JsonEnd::cut) recorder.warn(stream.line(), "the file ends inside the document");
  visitor.finish();
}

}  // namespace plateau::imports
