#include "calibration/routing_counts.h"
#include "calibration/whole.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace plateau {

namespace {

// The columns e0, e1, ... as far as they go without a gap.
std::vector<std::size_t> expert_columns(const CsvTable& table) {
  std::vector<std::size_t> columns;
  while (table.has("e" + std::to_string(columns.size()))) {
    columns.push_back(table.column("e" + std::to_string(columns.size())));
  }
  if (columns.empty()) {
    table.column("e0");  // throws in the table's own words
  }
  return columns;
}

// The rows of the wanted trace.
std::vector<std::size_t> rows_of(const CsvTable& table, std::string& trace) {
  std::vector<std::size_t> rows;
  if (!table.has("trace")) {
    if (!trace.empty()) {
      throw InputError({table.file(), 0, 0, "",
                        "has no column trace, but trace \"" + trace + "\" is asked for",
                        "leave the trace out"});
    }
    for (std::size_t row = 0; row < table.rows(); ++row) {
      rows.push_back(row);
    }
    return rows;
  }
  const std::size_t column = table.column("trace");
  std::set<std::string> names;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    names.emplace(table.text(row, column));
  }
  if (trace.empty() && names.size() == 1) {
    trace = *names.begin();
  }
  const std::vector<std::string> list(names.begin(), names.end());
  if (names.count(trace) == 0) {
    std::string known;
    for (const std::string& name : list) {
      known += (known.empty() ? "it has " : ", ") + name;
    }
    const std::string near = closest(trace, list);
    throw InputError(
        {table.file(), 0, 0, "",
         trace.empty() ? "holds several traces; name one" : "has no trace \"" + trace + "\"",
         near.empty() ? known : "did you mean " + near + "?"});
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, column) == trace) {
      rows.push_back(row);
    }
  }
  return rows;
}

// A whole number of 0 or more, or nothing and a problem.
std::optional<double> count_at(const CsvTable& table, std::size_t row, std::size_t column,
                               std::vector<Problem>& problems) {
  const std::optional<double> number = parse_number(table.text(row, column));
  if (!number || *number < 0 || *number != std::floor(*number)) {
    problems.push_back(table.problem(row, column, "must be a whole number of 0 or more"));
    return std::nullopt;
  }
  return number;
}

}  // namespace

RoutingCounts routing_counts_of(const CsvTable& table, const std::string& trace) {
  RoutingCounts found;
  found.trace = trace;
  const std::vector<std::size_t> experts = expert_columns(table);
  const std::size_t layer = table.column("layer");
  std::vector<Problem> problems;
  std::map<int, std::vector<double>> by_layer;
  for (const std::size_t row : rows_of(table, found.trace)) {
    const std::optional<double> number = count_at(table, row, layer, problems);
    std::vector<double> counts;
    for (const std::size_t expert : experts) {
      counts.push_back(count_at(table, row, expert, problems).value_or(0));
    }
    if (number && !by_layer.emplace(whole<int>(*number), std::move(counts)).second) {
      problems.push_back(table.problem(row, layer, "this layer was given before"));
    }
  }
  if (by_layer.empty() && problems.empty()) {
    problems.push_back({table.file(), 0, 0, "", "holds no layer", ""});
  }
  if (!problems.empty()) {
    throw InputError(std::move(problems));
  }
  for (auto& entry : by_layer) {
    found.layers.push_back(entry.first);
    found.counts.push_back(std::move(entry.second));
  }
  return found;
}

RoutingCounts read_routing_counts(const std::string& path, const std::string& trace) {
  return routing_counts_of(CsvTable::read(path), trace);
}

}  // namespace plateau
