#include "calibration/series_table.h"

#include <algorithm>

namespace plateau {

namespace {

// Columns that tell configurations apart; everything else is a measurement or a remark.
constexpr const char* kLabels[] = {
    "configuration", "source",         "sku",   "board", "gpu", "num_gpus", "model", "arch",
    "workload",      "task",           "wprec", "dtype", "tp",  "ep",       "dp",    "engine",
    "n_concurrent",  "throughput_unit"};

}  // namespace

SeriesTable::SeriesTable(const std::string& path, const std::vector<std::string>& where)
    : table_(CsvTable::read(path)) {
  std::vector<std::pair<std::size_t, std::string>> wanted;
  for (const std::string& condition : where) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) {
      problems_.push_back(Problem{"", 0, 0, "--where", "'" + condition + "' is no condition",
                                  "write column=value"});
      continue;
    }
    const std::string column = condition.substr(0, equals);
    if (!table_.has(column)) {
      problems_.push_back(
          Problem{path, 1, 0, column, "no such column", closest(column, table_.columns())});
      continue;
    }
    wanted.emplace_back(table_.column(column), condition.substr(equals + 1));
  }
  finish();
  group(wanted);
}

void SeriesTable::group(const std::vector<std::pair<std::size_t, std::string>>& wanted) {
  std::vector<std::pair<std::string, std::size_t>> columns;
  for (const char* label : kLabels) {
    if (table_.has(label)) columns.emplace_back(label, table_.column(label));
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t row = 0; row < table_.rows(); ++row) {
    const bool kept = std::all_of(wanted.begin(), wanted.end(), [&](const auto& condition) {
      return table_.text(row, condition.first) == condition.second;
    });
    if (!kept) {
      ++left_out_;
      continue;
    }
    TableSeries series;
    std::string key;
    for (const auto& [label, column] : columns) {
      series.labels[label] = std::string(table_.text(row, column));
      key += series.labels[label] + '\x1f';
    }
    const auto [place, is_new] = seen.try_emplace(key, series_.size());
    if (is_new) series_.push_back(std::move(series));
    series_[place->second].rows.push_back(row);
  }
  for (const auto& [label, column] : columns) {
    const bool varies =
        std::any_of(series_.begin(), series_.end(), [&, name = label](const auto& s) {
          return s.labels.at(name) != series_.front().labels.at(name);
        });
    if (!varies && series_.size() > 1) continue;
    for (TableSeries& series : series_) {
      const std::string& value = series.labels.at(label);
      if (value.empty()) continue;
      const bool bare = parse_number(value).has_value();
      series.name += (series.name.empty() ? "" : ", ") + (bare ? label + " " + value : value);
    }
  }
}

std::size_t SeriesTable::column_of(const std::vector<std::string>& names) const {
  std::string all;
  for (const std::string& name : names) {
    if (table_.has(name)) return table_.column(name);
    all += (all.empty() ? "" : ", ") + name;
  }
  throw InputError(Problem{table_.file(), 1, 0, names.front(), "no such column", "one of: " + all});
}

std::optional<double> SeriesTable::positive(std::size_t row, std::size_t column) {
  const auto value = parse_number(table_.text(row, column));
  if (value && *value > 0) return value;
  const std::string cell(table_.text(row, column));
  problems_.push_back(table_.problem(
      row, column, cell.empty() ? "is missing" : "'" + cell + "' is no number above 0",
      "leave the row out when it was not measured"));
  return std::nullopt;
}

void SeriesTable::finish() const {
  if (!problems_.empty()) throw InputError(problems_);
}

}  // namespace plateau
