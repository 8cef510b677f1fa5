// Requests: traces (arrivals and lengths) that become workloads, and per-request logs with measured
// times.
//
// CSV: Azure 2023 (TIMESTAMP,ContextTokens,GeneratedTokens), Vidur (arrived_at,num_prefill_tokens,
// num_decode_tokens), BurstGPT, and any header whose names carry units. JSON Lines: Mooncake
// {timestamp (ms), input_length, output_length, hash_ids}. Plain lines: "prompt_tokens=128
// output_tokens=64 ttft=0.12s".
#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibration/import/csv_cells.h"
#include "calibration/import/formats.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/request_columns.h"
#include "calibration/import/token.h"
#include "calibration/whole.h"

namespace plateau::imports {
namespace {

using Kind = RequestColumn::Kind;

class Requests {
 public:
  explicit Requests(Recorder& recorder)
      : recorder_(recorder), series_(recorder.series("requests")) {}

  void begin(std::int64_t line) {
    series_.begin_row(recorder_.file(), line);
    arrival_.reset();
  }
  void set(const RequestColumn& column, double value) {
    const double scaled = value * column.factor;
    if (column.column == "arrival_ms") {
      arrival_ = scaled;
      return;
    }
    outcomes_ = outcomes_ || column.outcome;
    series_.set(series_.column(column.column), scaled);
  }
  void set_word(const RequestColumn& column, std::string_view word) {
    series_.set_word(series_.column(column.column, true), word);
  }
  // Arrivals count from the first request of the file.
  void end(std::int64_t line) {
    if (arrival_) {
      if (!first_arrival_) first_arrival_ = *arrival_;
      const double since =
          dated_ ? std::round((*arrival_ - *first_arrival_) * 1e3) / 1e3 : *arrival_;
      series_.set(series_.column("arrival_ms"), since);
      clock_.see(since / 1000, line);
      recorder_.time(Clock::run, since / 1000);
    }
    if (series_.end_row()) {
      recorder_.row();
    } else {
      recorder_.ignore("rows without a value", line);
    }
  }
  void dated() { dated_ = true; }
  void finish() {
    clock_.finish(recorder_);
    recorder_.report().kind = outcomes_ ? "request_log" : "request_trace";
  }

 private:
  Recorder& recorder_;
  Series& series_;
  std::optional<double> arrival_;
  std::optional<double> first_arrival_;
  ClockWatch clock_;
  bool dated_ = false;
  bool outcomes_ = false;
};

[[noreturn]] void refuse_unit(Recorder& recorder, std::int64_t line, std::string_view name) {
  recorder.fail(line, "'" + std::string(name) + "' is a time without a unit",
                "name it with its unit, for example " + column_name(name) + "_ms or " +
                    column_name(name) + "_s");
}

}  // namespace

void import_request_csv(ByteSource& bytes, Recorder& recorder) {
  LineSource lines(bytes);
  CsvCells splitter;
  Requests requests(recorder);
  std::vector<std::optional<RequestColumn>> columns;
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty() || line.text[0] == '#') continue;
    const std::vector<Cell>& cells = splitter.split(line.text);
    if (columns.empty()) {
      for (const Cell& cell : cells) {
        const HeaderCell header = header_cell(cell.text);
        columns.push_back(request_column(header.name, header.unit));
        if (!columns.back()) recorder.ignore("column '" + header.name + "'", line.number);
        if (columns.back() && columns.back()->kind == Kind::unit_missing) {
          refuse_unit(recorder, line.number, header.name);
        }
      }
      recorder.report().era = "CSV with header";
      continue;
    }
    if (cells.size() > columns.size()) {
      recorder.ignore("rows with more cells than columns", line.number);
      continue;
    }
    requests.begin(line.number);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!columns[i] || (!cells[i].comma && !(i + 1 == columns.size() && line.terminated)))
        continue;
      if (columns[i]->kind == Kind::word) {
        if (!is_missing(cells[i].text)) requests.set_word(*columns[i], cells[i].text);
      } else if (const auto date = leading_date_time(cells[i].text)) {
        requests.dated();
        requests.set({Kind::number, columns[i]->column, 1000, false}, date->value);
      } else if (const auto read = number(cells[i].text)) {
        requests.set(*columns[i], *read);
      }
    }
    requests.end(line.number);
  }
  requests.finish();
}

namespace {

class RequestVisitor : public JsonVisitor {
 public:
  RequestVisitor(Recorder& recorder, Requests& requests)
      : recorder_(recorder), requests_(requests) {}

  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    const std::string& key = path[0].key;
    if (path.depth() == 2 && key == "hash_ids" && value.is_number()) return block(value.number);
    if (path.depth() != 1 || !value.is_number()) return;
    if (key == "timestamp") {
      return requests_.set({Kind::number, "arrival_ms", 1, false}, value.number);
    }
    const auto column = request_column(key, "");
    if (!column) return recorder_.ignore("key '" + key.substr(0, 60) + "'", line);
    if (column->kind == Kind::unit_missing) refuse_unit(recorder_, line, key);
    if (column->kind == Kind::number) requests_.set(*column, value.number);
  }

  // Only a closed list of blocks is one.
  void close(const JsonPath& path, bool array, std::int64_t) override {
    if (!array || path.depth() != 1 || path[0].key != "hash_ids") return;
    finish_run();
    if (!blocks_.empty()) requests_.set_word({Kind::word, "prefix_blocks", 1, false}, blocks_);
  }

 private:
  // Ids of 512-token prefix blocks as runs: "0 14-27".
  void block(double id) {
    if (last_ && id == *last_ + 1) {
      last_ = id;
      return;
    }
    finish_run();
    first_ = last_ = id;
  }
  void finish_run() {
    if (!last_) return;
    const auto text = [](double id) { return std::to_string(whole(id)); };
    if (!blocks_.empty()) blocks_ += ' ';
    blocks_ += *first_ == *last_ ? text(*first_) : text(*first_) + "-" + text(*last_);
    last_.reset();
  }

  Recorder& recorder_;
  Requests& requests_;
  std::string blocks_;
  std::optional<double> first_;
  std::optional<double> last_;
};

}  // namespace

void import_request_jsonl(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "JSON Lines";
  JsonStream stream(bytes, true);
  Requests requests(recorder);
  for (;;) {
    // The row begins before its values come in.
    RequestVisitor visitor(recorder, requests);
    requests.begin(stream.line());
    const JsonEnd end = stream.next(visitor);
    if (end == JsonEnd::none) break;
    if (end == JsonEnd::broken) {
      recorder.fail(stream.line(), "is not JSON Lines: " + stream.error(), "one object per line");
    }
    if (end == JsonEnd::cut) {
      recorder.ignore("lines that are cut off or no JSON (values before the cut are taken)",
                      stream.start_line());
    }
    requests.end(stream.start_line());
  }
  requests.finish();
}

namespace {

struct NamedValue {
  std::string_view name;
  double value = 0;
  std::string_view unit;
  bool ended = false;
};

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// "name=value unit" or "name: value unit" from `at` on; moves `at` behind it.
std::optional<NamedValue> next_value(const Line& line, std::size_t& at) {
  const std::string_view text = line.text;
  for (; at < text.size(); ++at) {
    if (text[at] != '=' && text[at] != ':') continue;
    std::size_t start = at;
    while (start > 0 && name_character(text[start - 1])) --start;
    std::size_t value = at + 1;
    while (value < text.size() && text[value] == ' ') ++value;
    const auto found = leading_number(text.substr(value));
    if (start == at || !found) continue;
    NamedValue named{text.substr(start, at - start), found->value, {}, false};
    std::size_t end = value + found->length;
    std::size_t unit = end;
    if (unit < text.size() && text[unit] == ' ') ++unit;
    std::size_t unit_end = unit;
    while (unit_end < text.size() && std::isalpha(static_cast<unsigned char>(text[unit_end])) != 0)
      ++unit_end;
    const bool is_unit =
        unit_end > unit &&
        (unit_end == text.size() ||
         (text[unit_end] != '=' && text[unit_end] != ':' && text[unit_end] != '_'));
    if (is_unit) {
      named.unit = text.substr(unit, unit_end - unit);
      end = unit_end;
    }
    named.ended =
        end < text.size() ? !name_character(text[end]) && text[end] != '.' : line.terminated;
    at = end;
    return named;
  }
  return std::nullopt;
}

}  // namespace

void import_request_log(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "name=value lines";
  LineSource lines(bytes);
  Requests requests(recorder);
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty()) continue;
    requests.begin(line.number);
    bool any = false;
    std::size_t at = 0;
    while (const auto named = next_value(line, at)) {
      if (!named->ended) continue;
      const bool tokens = named->unit == "tokens" || named->unit == "tok";
      const auto column = request_column(named->name, tokens ? "" : named->unit);
      if (!column) continue;
      if (column->kind == Kind::unit_missing) refuse_unit(recorder, line.number, named->name);
      if (column->kind != Kind::number) continue;
      requests.set(*column, named->value);
      any = true;
    }
    if (any) {
      requests.end(line.number);
    } else {
      recorder.ignore("lines without a request", line.number);
    }
  }
  requests.finish();
}

void import_step_trace(ByteSource& bytes, Recorder& recorder) {
  // phase,start_s,requests,tokens,ms: the steps of the measured engine; t,prompt_throughput,...: a
  // serving engine's own log of one line a second.
  recorder.report().era = "CSV with header";
  LineSource lines(bytes);
  CsvCells splitter;
  std::vector<std::string> columns;
  Series* series = nullptr;
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty() || line.text[0] == '#') continue;
    const std::vector<Cell>& cells = splitter.split(line.text);
    if (columns.empty()) {
      series = &recorder.series(cells.front().text == "phase" ? "steps" : "engine_stats");
      for (const Cell& cell : cells) {
        const std::string name(cell.text);
        columns.push_back(name == "start_s" || name == "t" ? "run_s"
                          : name == "ms"                   ? "step_ms"
                          : name == "prompt_throughput"    ? "prompt_throughput_tok_per_s"
                          : name == "gen_throughput"       ? "gen_throughput_tok_per_s"
                          : name == "running"              ? "running_requests"
                          : name == "waiting"              ? "waiting_requests"
                          : name == "kv_cache_pct"         ? "kv_usage_pct"
                                                           : column_name(name));
      }
      continue;
    }
    if (cells.size() > columns.size()) {
      recorder.ignore("rows with more cells than columns", line.number);
      continue;
    }
    series->begin_row(recorder.file(), line.number);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].comma && !(i + 1 == columns.size() && line.terminated)) continue;
      const auto read = number(cells[i].text);
      if (read && columns[i] == "run_s") recorder.time(Clock::run, *read);
      if (read) {
        series->set(series->column(columns[i]), *read);
      } else if (columns[i] == "phase" && !is_missing(cells[i].text)) {
        series->set_word(series->column(columns[i], true), cells[i].text);
      }
    }
    if (series->end_row()) recorder.row();
  }
}

}  // namespace plateau::imports
