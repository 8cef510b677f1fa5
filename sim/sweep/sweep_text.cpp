#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calibration/csv.h"
#include "sim/report/format.h"
#include "sim/sweep/sweep_output.h"

namespace plateau {

namespace {

constexpr std::size_t kWidth = 80;

struct Shown {
  const char* column;
  const char* title;
  int decimals;
  int rank;  // the highest goes first where the table is too wide
};
constexpr Shown kShown[] = {
    {"output_tok_per_s", "tok/s", 0, 0},     {"gpu_w_mean", "W/GPU", 1, 0},
    {"j_per_output_token", "J/token", 3, 1}, {"ttft_p50_ms", "TTFT ms", 0, 0},
    {"tpot_p50_ms", "TPOT ms", 1, 0},        {"running_mean", "running", 1, 2}};
constexpr int kRanks = 2;

std::size_t column_of(const Sweep& sweep, const std::string& name) {
  const auto& columns = sweep.columns();
  return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) -
                                  columns.begin());
}

using Table = std::vector<std::vector<std::string>>;

// "concurrency" of "workload.concurrency", unless another key ends the same.
std::vector<std::string> short_keys(const Sweep& sweep) {
  std::vector<std::string> keys;
  for (const Variation& key : sweep.space().keys())
    keys.push_back(key.key.substr(key.key.rfind('.') + 1));
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (std::count(keys.begin(), keys.end(), keys[k]) > 1) keys[k] = sweep.space().keys()[k].key;
  }
  return keys;
}

Table table_of(const Sweep& sweep, const RowStore& rows, std::int64_t most, int most_rank) {
  Table table = {short_keys(sweep)};
  for (const Shown& shown : kShown) {
    if (shown.rank <= most_rank) table[0].emplace_back(shown.title);
  }
  table[0].emplace_back("binding");
  for (std::int64_t i = 0; i < most; ++i) {
    const SweepRow row = row_of(rows.line(i));
    std::vector<std::string> cells = sweep.space().values(i);
    for (const Shown& shown : kShown) {
      if (shown.rank > most_rank) continue;
      const auto value = parse_number(row.cells[column_of(sweep, shown.column)]);
      cells.push_back(value ? fmt::format("{:.{}f}", *value, shown.decimals) : "-");
    }
    cells.push_back(row.ok ? row.cells[column_of(sweep, "binding")] : "infeasible");
    table.push_back(std::move(cells));
  }
  return table;
}

std::string aligned(const Table& table) {
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
  if (best < 0) return "no point could run";
  std::string text = fmt::format("most output: {:.0f} tok/s at", most);
  for (const std::string& set : sweep.sets_of(best)) text += " " + set;
  return text;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    most = std::max(most, end - from);
    from = end + 1;
  }
  return most;
}

// Each reason once, with the first point that gave it.
std::string reasons(const Sweep& sweep, const RowStore& rows) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> told;
  std::string text;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const SweepRow row = row_of(rows.line(i));
    if (row.ok || std::find(told.begin(), told.end(), row.reason) != told.end()) continue;
    told.push_back(row.reason);
    if (told.size() > kMost) return text + "more reasons: --csv\n";
    std::string at;
    for (const std::string& set : sweep.sets_of(i)) at += (at.empty() ? "" : " ") + set;
    for (const std::string& line : wrap("", at + " cannot run: " + row.reason, kWidth))
      text += line + "\n";
  }
  return text;
}

}  // namespace

std::string sweep_text(const Sweep& sweep, const RowStore& rows, int most_rows) {
  const std::int64_t shown = std::min<std::int64_t>(most_rows, rows.size());
  std::string text;
  for (int rank = kRanks; rank >= 0 && shown > 0; --rank) {
    text = aligned(table_of(sweep, rows, shown, rank));
    if (widest(text) <= kWidth) break;
  }
  if (shown > 0 && shown < rows.size())
    text += fmt::format("... {} more rows\n", count_text(static_cast<double>(rows.size() - shown)));
  text += fmt::format("{} points, {} infeasible", count_text(static_cast<double>(rows.size())),
                      count_text(static_cast<double>(infeasible_rows(rows))));
  text += shown > 0 ? "; TTFT and TPOT are medians\n" : "\n";
  text += reasons(sweep, rows);
  for (const std::string& line : wrap("", best_line(sweep, rows), kWidth)) text += line + "\n";
  return text;
}

}  // namespace plateau
