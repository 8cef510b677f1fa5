#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calibration/csv.h"
#include "sim/sweep/sweep_output.h"

namespace plateau {

namespace {

struct Shown {
  const char* column;
  const char* title;
  int decimals;
};
constexpr Shown kShown[] = {{"output_tok_per_s", "tok/s", 0},     {"gpu_w_mean", "W/GPU", 1},
                            {"j_per_output_token", "J/token", 3}, {"ttft_p50_ms", "TTFT p50 ms", 0},
                            {"tpot_p50_ms", "TPOT p50 ms", 1},    {"running_mean", "running", 1}};

std::size_t column_of(const Sweep& sweep, const std::string& name) {
  const auto& columns = sweep.columns();
  return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) -
                                  columns.begin());
}

std::vector<std::string> table_row(const Sweep& sweep, std::int64_t point, const SweepRow& row) {
  std::vector<std::string> cells = sweep.space().values(point);
  for (const Shown& shown : kShown) {
    const auto value = parse_number(row.cells[column_of(sweep, shown.column)]);
    cells.push_back(value ? fmt::format("{:.{}f}", *value, shown.decimals) : "-");
  }
  cells.push_back(row.ok ? row.cells[column_of(sweep, "binding")] : row.reason);
  return cells;
}

std::string aligned(const std::vector<std::vector<std::string>>& table) {
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto& row : table) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : table) {
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      text += fmt::format("{:>{}}  ", row[c], widths[c]);
    text += row.back() + "\n";
  }
  return text;
}

std::string best_line(const Sweep& sweep, const RowStore& rows) {
  const std::size_t column = column_of(sweep, "output_tok_per_s");
  std::int64_t best = -1;
  double most = 0;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const SweepRow row = row_of(rows.line(i));
    const auto value = row.ok ? parse_number(row.cells[column]) : std::nullopt;
    if (!value || (best >= 0 && *value <= most)) continue;
    best = i;
    most = *value;
  }
  if (best < 0) return "no point could run\n";
  std::string text = fmt::format("most output: {:.0f} tok/s at", most);
  for (const std::string& set : sweep.sets_of(best)) text += " " + set;
  return text + "\n";
}

}  // namespace

std::string sweep_text(const Sweep& sweep, const RowStore& rows, int most_rows) {
  std::vector<std::vector<std::string>> table(1);
  for (const Variation& key : sweep.space().keys()) table[0].push_back(key.key);
  for (const Shown& shown : kShown) table[0].emplace_back(shown.title);
  table[0].emplace_back("binding");
  const std::int64_t shown = std::min<std::int64_t>(most_rows, rows.size());
  for (std::int64_t i = 0; i < shown; ++i)
    table.push_back(table_row(sweep, i, row_of(rows.line(i))));
  std::string text = shown > 0 ? aligned(table) : "";
  if (shown > 0 && shown < rows.size())
    text += fmt::format("... {} more rows\n", count_text(static_cast<double>(rows.size() - shown)));
  text += fmt::format("{} points, {} infeasible\n", count_text(static_cast<double>(rows.size())),
                      count_text(static_cast<double>(infeasible_rows(rows))));
  return text + best_line(sweep, rows);
}

}  // namespace plateau
