// A measured CSV with its columns understood: which scenario keys a row sets, and what was
// measured.
//
//   model, batch, ctx_tokens, zipf_alpha, cuda_graph, all_reduce_path, board, concurrency,
//   isl_tokens, osl_tokens, osl_jitter, requests, kv_tokens, page_tokens, max_running,
//   prefill_chunk_tokens, num_continuous_decode_steps     inputs step_ms, power_w, output_tok_s,
//   j_per_output_tok, ttft_p50_s, mean_running, ...                      measured
// An empty input cell leaves the base scenario's value; an empty measured cell is not compared.
// Anything else that is no number, or an unknown column, is a problem; all are thrown together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/csv.h"

namespace plateau {

class MeasuredFile {
 public:
  // Throws InputError when the file cannot be read or holds neither kind of row. `metric_columns`:
  // measured columns known.
  MeasuredFile(const std::string& path, const std::vector<std::string>& metric_columns);

  bool steps() const { return steps_; }  // decode steps at fixed batch; else serving runs
  const CsvTable& table() const { return table_; }

  bool has(const char* column,
           std::size_t row) const;  // the column exists and the cell is not empty
  std::string text(const char* column, std::size_t row) const;
  // A cell that must be a number, zero allowed or not; a problem and nothing otherwise.
  std::optional<double> number(const char* column, std::size_t row, bool zero_allowed);

  std::vector<std::string> sets(std::size_t row);  // key=value over the base scenario
  std::string name(std::size_t row) const;         // the inputs that differ between rows, in words
  std::vector<std::string> input_columns(std::size_t row) const;  // those with a cell

  void complain(Problem problem) { problems_.push_back(std::move(problem)); }
  void finish() const;  // throws everything complained of

 private:
  void check_columns(const std::vector<std::string>& metric_columns);
  void set_routing(std::size_t row, std::vector<std::string>& sets);
  void set_output(std::size_t row, std::vector<std::string>& sets);
  void set_graph(std::size_t row, std::vector<std::string>& sets);
  void set_interconnect(std::size_t row, std::vector<std::string>& sets);

  CsvTable table_;
  bool steps_ = false;
  std::vector<Problem> problems_;
};

}  // namespace plateau
