// The table that sglang.bench_serving and `vllm bench serve` print: "Label:      value" lines
// between rulers, parsed by label, as every version prints others.
#include "calibration/import/bench_columns.h"
#include "calibration/import/formats.h"
#include "calibration/import/line_source.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

class Console {
 public:
  explicit Console(Recorder& recorder) : recorder_(recorder) {}

  void line(const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (contains(text, "Serving Benchmark Result")) {
      finish();
      row_line_ = line.number;
      return;
    }
    if (row_line_ == 0) {
      if (!text.empty()) recorder_.ignore("lines outside the result table", line.number);
      return;
    }
    if (text.empty()) return;
    if (text.front() == '=' || text.front() == '-') {
      if (text.front() == '=') finish();
      return;
    }
    value(text, line);
  }

  void finish() {
    if (row_line_ == 0) return;
    Series& series = recorder_.series("bench_runs");
    series.begin_row(recorder_.file(), row_line_);
    for (const auto& [column, number] : numbers_) series.set(series.column(column), number);
    for (const auto& [column, word] : words_) series.set_word(series.column(column, true), word);
    if (series.end_row()) recorder_.row();
    first_ = false;
    row_line_ = 0;
    numbers_.clear();
    words_.clear();
  }

  bool sglang = false;

 private:
  void value(std::string_view text, const Line& line) {
    const std::size_t colon = text.rfind(':');
    if (colon == kNowhere)
      return recorder_.ignore("lines of the table without a value", line.number);
    const std::string_view label = trimmed(text.substr(0, colon));
    const std::string_view value = trimmed(text.substr(colon + 1));
    if (!line.terminated) return recorder_.ignore("a line cut inside its value", line.number);
    if (label == "Backend") {
      sglang = true;
      words_.emplace("backend", value);
      return;
    }
    const std::optional<BenchColumn> column = bench_label(label);
    if (!column) {
      return recorder_.ignore("label '" + std::string(label.substr(0, 60)) + "'", line.number);
    }
    if (contains(label, "E2E Latency") || contains(label, "retokenized")) sglang = true;
    const auto read = number(value);
    if (!read) {
      if (column->column == "request_rate_per_s" && !value.empty())
        words_.emplace("request_rate", value);
      return;
    }
    if (!numbers_.emplace(column->column, *read).second) return;
    if (first_) recorder_.fact("bench." + column->column, *read, line.number);
  }

  Recorder& recorder_;
  std::int64_t row_line_ = 0;
  bool first_ = true;
  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> words_;
};

}  // namespace

void import_bench_console(ByteSource& bytes, Recorder& recorder) {
  LineSource lines(bytes);
  Console console(recorder);
  Line line;
  while (lines.next(line)) console.line(line);
  console.finish();
  recorder.report().engine = console.sglang ? "sglang" : "vllm";
  recorder.report().era = console.sglang ? "bench_serving table" : "vllm bench serve table";
}

}  // namespace plateau::imports
