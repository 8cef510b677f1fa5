#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "sim/validate/measured_block.h"

namespace plateau {

namespace {

// Four digits, whole numbers whole: "0.06", "18.4", "2,095".
std::string figure(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string metric_line(const std::string& metric, const MetricPair& pair) {
  std::string line = fmt::format("    {:<21}{:>10}{:>11}{:>+9.1f} %", metric, figure(pair.measured),
                                 figure(pair.predicted), 100 * pair.error());
  if (pair.low && pair.high) {
    line += fmt::format("{:>18}  {}", figure(*pair.low) + " to " + figure(*pair.high),
                        pair.inside().value_or(false) ? "in" : "out");
  }
  return line + '\n';
}

}  // namespace

std::string scenario_rows_text(const Validation& validation, int columns) {
  std::size_t figures = 0;
  for (const ValidationRow& row : validation.rows) figures += row.metrics.size();
  std::string text =
      fmt::format("{} figures of {} scenario{}\n\n    {:<21}{:>10}{:>11}{:>11}{:>18}\n", figures,
                  validation.files.size(), validation.files.size() == 1 ? "" : "s", "metric",
                  "measured", "predicted", "error", "interval");
  std::string file;
  const auto width = static_cast<std::size_t>(columns);
  for (const ValidationRow& row : validation.rows) {
    if (row.file != file) {
      file = row.file;
      text += '\n' + file + '\n';
      text += ("  " + row.source).substr(0, width) + '\n';
    }
    if (!row.name.empty()) text += ("  " + row.name).substr(0, width) + '\n';
    for (const auto& [metric, pair] : row.metrics) text += metric_line(metric, pair);
  }
  return text;
}

}  // namespace plateau
