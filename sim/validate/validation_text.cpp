#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/format.h"
#include "sim/validate/measured_block.h"

namespace plateau {

namespace {

// Metrics that a row of the table shows; the rest is in the JSON and the summary.
constexpr const char* kShown[] = {"step_ms", "output_tok_per_s", "gpu_w_mean", "j_per_output_token",
                                  "ttft_p50"};

constexpr std::size_t kWorst = 10;

std::string cell_of(const ValidationRow& row, const std::string& metric) {
  const auto found = row.metrics.find(metric);
  if (found == row.metrics.end()) return "-";
  return fmt::format("{:.4g} {:+.1f}%", found->second.predicted, 100 * found->second.error());
}

std::vector<std::string> shown_metrics(const Validation& validation) {
  std::vector<std::string> shown;
  for (const char* metric : kShown) {
    if (validation.metrics.count(metric) > 0) shown.emplace_back(metric);
  }
  return shown;
}

std::string head_of(const Validation& validation) {
  std::string text =
      fmt::format("{} rows of {}\npredicted by {} with profile {}\n", validation.rows.size(),
                  validation.file, validation.base, validation.profile);
  for (const std::string& note : validation.notes) text += note + '\n';
  return text + '\n';
}

std::string rows_text(const Validation& validation, int columns) {
  std::string text = head_of(validation);
  text += "Each cell: prediction, and its error against the measurement.\n";
  const std::vector<std::string> shown = shown_metrics(validation);
  constexpr std::size_t kCell = 18;
  text += fmt::format("{:>5} ", "line");
  for (const std::string& metric : shown) text += fmt::format("{:>{}}", metric, kCell);
  text += '\n';
  for (const ValidationRow& row : validation.rows) {
    std::string line = fmt::format("{:>5} ", row.line);
    for (const std::string& metric : shown)
      line += fmt::format("{:>{}}", cell_of(row, metric), kCell);
    text += line + '\n';
    const std::size_t room = static_cast<std::size_t>(columns) - 6;
    text += "      " + row.name.substr(0, room) + '\n';
  }
  return text;
}

// A series has hundreds of rows: those that miss most.
std::string worst_of(const Validation& validation) {
  struct Miss {
    const ValidationRow* row;
    const std::string* metric;
    const MetricPair* pair;
  };
  std::vector<Miss> misses;
  for (const ValidationRow& row : validation.rows) {
    for (const auto& [metric, pair] : row.metrics) misses.push_back({&row, &metric, &pair});
  }
  std::stable_sort(misses.begin(), misses.end(), [](const Miss& a, const Miss& b) {
    return std::fabs(a.pair->error()) > std::fabs(b.pair->error());
  });
  misses.resize(std::min(misses.size(), kWorst));
  std::string text = head_of(validation) + "The largest errors\n";
  for (const Miss& miss : misses) {
    text += fmt::format("{:>5}  {:<12} measured {:.4g}, predicted {:.4g} ({:+.1f} %)\n       {}\n",
                        miss.row->line, *miss.metric, miss.pair->measured, miss.pair->predicted,
                        100 * miss.pair->error(), miss.row->name);
  }
  return text;
}

}  // namespace

std::string validation_text(const Validation& validation, int columns) {
  std::string text = !validation.series.empty() ? worst_of(validation)
                     : validation.files.empty() ? rows_text(validation, columns)
                                                : scenario_rows_text(validation, columns);
  const bool table = validation.files.empty();  // a scenario's place is too long for a column
  text += fmt::format("\n{:<22}{:>5}{:>9}{:>9}{:>9}{:>15}{}\n", "metric", "n", "MAPE %", "bias %",
                      "worst %", "in interval %", table ? "     line" : "");
  for (const auto& [metric, summary] : validation.metrics) {
    text += fmt::format("{:<22}{:>5}{:>9.2f}{:>+9.2f}{:>9.2f}{:>15}{}\n", metric, summary.n,
                        summary.mape_pct, summary.bias_pct, summary.worst_pct,
                        summary.coverage_pct ? fmt::format("{:.0f}", *summary.coverage_pct) : "-",
                        table ? fmt::format("{:>9}", summary.worst_line) : "");
  }
  if (!validation.warnings.empty()) text += '\n';
  for (const std::string& warning : validation.warnings) {
    const auto width = static_cast<std::size_t>(columns);
    for (const std::string& line : wrap("warning: ", warning, width)) text += line + '\n';
  }
  return text;
}

}  // namespace plateau
