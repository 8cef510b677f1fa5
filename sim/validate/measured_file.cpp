#include "sim/validate/measured_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/scenario/read_scenario.h"

namespace plateau {

namespace {

// An input column and the scenario keys it sets; `{}` is the cell.
struct InputColumn {
  const char* column;
  const char* set;  // nullptr: handled by a function below
  bool number;      // must be a number >= 0
};

constexpr InputColumn kInputs[] = {
    {"model", "model={}", false},
    {"batch", nullptr, true},
    {"ctx_tokens", nullptr, true},
    {"zipf_alpha", nullptr, true},
    {"cuda_graph", nullptr, true},
    {"all_reduce_path", nullptr, false},
    {"board", "calibration.board={}", false},
    {"concurrency", "workload.concurrency={}", true},
    {"isl_tokens", "workload.input_length={} tokens", true},
    {"osl_tokens", nullptr, true},
    {"osl_jitter", nullptr, true},
    {"requests", "workload.requests={}", true},
    {"kv_tokens", "engine.kv_pool_tokens={}", true},
    {"page_tokens", "engine.page_size={}", true},
    {"max_running", "engine.max_running_requests={}", true},
    {"prefill_chunk_tokens", "engine.chunked_prefill_size={}", true},
    {"num_continuous_decode_steps", "engine.num_continuous_decode_steps={}", true},
    {"delay_ms", "hypothetical.rank_delay={} ms", true}};

// Columns that describe the measurement, not the run.
constexpr const char* kNotes[] = {"power_window_s", "sm_mhz",       "util_pct",  "temperature_c",
                                  "seed",           "repeat",       "late_rank", "sm_mhz_waiting",
                                  "board_waiting",  "power_w_late", "board_late"};

std::string filled(const char* pattern, const std::string& cell) {
  std::string text = pattern;
  return text.replace(text.find("{}"), 2, cell);
}

}  // namespace

MeasuredFile::MeasuredFile(const std::string& path, const std::vector<std::string>& metric_columns)
    : table_(CsvTable::read(path)) {
  steps_ = table_.has("step_ms");
  if (!steps_ && !table_.has("output_tok_s")) {
    throw InputError(Problem{path, 1, 1, "", "neither step_ms nor output_tok_s is a column",
                             "a row is a decode step (batch, ctx_tokens, step_ms) or a run "
                             "(concurrency, output_tok_s)"});
  }
  check_columns(metric_columns);
}

void MeasuredFile::check_columns(const std::vector<std::string>& metric_columns) {
  std::vector<std::string> known = metric_columns;
  known.insert(known.end(), std::begin(kNotes), std::end(kNotes));
  for (const InputColumn& input : kInputs) known.emplace_back(input.column);
  for (const std::string& column : table_.columns()) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    const std::string near = closest(column, known);
    problems_.push_back(Problem{table_.file(), 1, 0, column, "unknown column",
                                near.empty()
                                    ? "units belong into the name, as in step_ms or output_tok_s"
                                    : "did you mean " + near + "?"});
  }
}

bool MeasuredFile::has(const char* column, std::size_t row) const {
  return table_.has(column) && !table_.text(row, table_.column(column)).empty();
}

std::string MeasuredFile::text(const char* column, std::size_t row) const {
  return table_.has(column) ? std::string(table_.text(row, table_.column(column))) : std::string();
}

std::optional<double> MeasuredFile::number(const char* column, std::size_t row, bool zero_allowed) {
  const std::size_t at = table_.column(column);
  const auto value = parse_number(table_.text(row, at));
  if (!value) {
    complain(table_.problem(row, at, fmt::format("'{}' is not a number", table_.text(row, at)),
                            "leave the cell empty when it was not measured"));
  } else if (*value < 0 || (*value == 0 && !zero_allowed)) {
    complain(table_.problem(row, at, fmt::format("{} is impossible here", *value),
                            "it must be above 0"));
    return std::nullopt;
  }
  return value;
}

void MeasuredFile::set_routing(std::size_t row, std::vector<std::string>& sets) {
  if (!has("zipf_alpha", row)) return;
  const double alpha = number("zipf_alpha", row, true).value_or(0);
  sets.push_back(alpha == 0 ? "routing={law: uniform}"
                            : fmt::format("routing={{law: zipf_gumbel, alpha: {}}}", alpha));
}

void MeasuredFile::set_output(std::size_t row, std::vector<std::string>& sets) {
  if (!has("osl_tokens", row)) return;
  const std::string tokens = text("osl_tokens", row);
  const double jitter = has("osl_jitter", row) ? number("osl_jitter", row, true).value_or(0) : 0;
  if (jitter == 0) {
    sets.push_back("workload.output_length=" + tokens + " tokens");
  } else {
    sets.push_back(fmt::format(
        "workload.output_length={{law: jitter, tokens: {} tokens, ratio: {}}}", tokens, jitter));
  }
}

// A step was captured at its very batch; a run captures the sizes of the base scenario.
void MeasuredFile::set_graph(std::size_t row, std::vector<std::string>& sets) {
  if (has("cuda_graph", row) && number("cuda_graph", row, true).value_or(1) == 0) {
    sets.push_back("engine.disable_cuda_graph=true");
  } else if (steps_ && has("batch", row)) {
    sets.push_back("engine.cuda_graph_bs=[" + text("batch", row) + "]");
  }
}

void MeasuredFile::set_interconnect(std::size_t row, std::vector<std::string>& sets) {
  const std::string path = text("all_reduce_path", row);
  if (path.empty()) return;
  if (path == "host_memory") {
    sets.push_back("hardware.interconnect=pcie_host_staged");
  } else if (path == "nvlink") {
    sets.push_back("hardware.interconnect=nvlink");
  } else {
    complain(table_.problem(row, table_.column("all_reduce_path"), "'" + path + "' is no path",
                            "nvlink, host_memory, or empty on one GPU"));
  }
}

std::vector<std::string> MeasuredFile::sets(std::size_t row) {
  std::vector<std::string> sets;
  for (const InputColumn& input : kInputs) {
    if (!has(input.column, row)) continue;
    if (input.number) number(input.column, row, true);
    if (input.set != nullptr) sets.push_back(filled(input.set, text(input.column, row)));
  }
  if (has("model", row)) {
    const int tp = std::max(1, split_model_name(text("model", row)).tp);
    sets.push_back(fmt::format("parallel.tp={}", tp));
    sets.push_back(fmt::format("hardware.count={}", tp));
  }
  set_routing(row, sets);
  set_output(row, sets);
  set_graph(row, sets);
  set_interconnect(row, sets);
  return sets;
}

std::string MeasuredFile::name(std::size_t row) const {
  std::string name;
  for (const InputColumn& input : kInputs) {
    if (!has(input.column, row)) continue;
    const std::size_t at = table_.column(input.column);
    bool varies = false;
    for (std::size_t other = 0; other < table_.rows() && !varies; ++other) {
      varies = table_.text(other, at) != table_.text(row, at);
    }
    if (!varies) continue;
    const std::string cell = text(input.column, row);
    name += (name.empty() ? "" : ", ") +
            (input.number ? fmt::format("{} {}", input.column, cell) : cell);
  }
  return name;
}

std::vector<std::string> MeasuredFile::input_columns(std::size_t row) const {
  std::vector<std::string> columns;
  for (const InputColumn& input : kInputs) {
    if (has(input.column, row)) columns.emplace_back(input.column);
  }
  return columns;
}

void MeasuredFile::finish() const {
  if (problems_.empty()) return;
  std::set<int> lines;
  for (const Problem& problem : problems_) {
    if (problem.line > 1) lines.insert(problem.line);
  }
  std::vector<Problem> all = problems_;
  all.push_back(Problem{table_.file(), 0, 0, "",
                        fmt::format("{} problems, in {} of {} rows; nothing was compared",
                                    problems_.size(), lines.size(), table_.rows()),
                        ""});
  throw InputError(all);
}

}  // namespace plateau
