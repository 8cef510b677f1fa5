#include "sim/sweep/sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/csv.h"
#include "calibration/units.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// A varied value as JSON: a number when it is one, else text ("400 W").
Json value_json(const std::string& text) {
  if (const auto whole = parse_integer(text)) return *whole;
  if (const auto number = parse_number(text)) return *number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

// A figure, whose digits came from to_chars and read back as the same double.
Json figure_json(const std::string& digits) {
  if (digits.empty()) return nullptr;
  if (const auto whole = parse_integer(digits)) return *whole;
  const auto number = parse_number(digits);
  return number ? Json(*number) : Json(nullptr);
}

Json row_json(const Sweep& sweep, std::int64_t point, const SweepRow& row) {
  Json json;
  json["point"] = point;
  Json set = Json::object();
  const std::vector<std::string> values = sweep.space().values(point);
  for (std::size_t k = 0; k < values.size(); ++k)
    set[sweep.space().keys()[k].key] = value_json(values[k]);
  json["set"] = std::move(set);
  json["status"] = row.ok ? "ok" : "infeasible";
  json["reason"] = row.ok ? Json(nullptr) : Json(row.reason);
  for (std::size_t c = 0; c < sweep.columns().size(); ++c) {
    const std::string& cell = row.cells[c];
    json[sweep.columns()[c]] = c < sweep.numbers() ? figure_json(cell)
                               : cell.empty()      ? Json(nullptr)
                                                   : Json(cell);
  }
  return json;
}

Json head_json(const Sweep& sweep, const RowStore& rows) {
  Json json;
  json["schema"] = "plateau-sweep/1";
  json["scenario"] = sweep.base().file;
  json["question"] = sweep.base().question;
  json["way"] = name_of(sweep.space().way());
  Json vary = Json::object();
  for (const Variation& key : sweep.space().keys()) {
    Json values = Json::array();
    for (const std::string& value : key.values) values.push_back(value_json(value));
    vary[key.key] = std::move(values);
  }
  json["vary"] = std::move(vary);
  json["points"] = rows.size();
  json["infeasible"] = infeasible_rows(rows);
  json["repetitions"] = sweep.repetitions();
  json["columns"] = sweep.columns();
  json["version"] = PLATEAU_VERSION;
  json["fingerprint"] = sweep.fingerprint();
  return json;
}

}  // namespace

std::int64_t infeasible_rows(const RowStore& rows) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < rows.size(); ++i)
    count += rows.line(i).rfind("infeasible\t", 0) == 0 ? 1 : 0;
  return count;
}

std::string sweep_csv(const Sweep& sweep, const RowStore& rows) {
  std::string text;
  for (const Variation& key : sweep.space().keys()) text += csv_cell(key.key) + ",";
  text += "status,reason";
  for (const std::string& column : sweep.columns()) text += "," + column;
  text += "\n";
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const SweepRow row = row_of(rows.line(i));
    for (const std::string& value : sweep.space().values(i)) text += csv_cell(value) + ",";
    text += (row.ok ? "ok," : "infeasible,") + csv_cell(row.reason);
    for (const std::string& cell : row.cells) text += "," + csv_cell(cell);
    text += "\n";
  }
  return text;
}

std::string sweep_json_lines(const Sweep& sweep, const RowStore& rows) {
  std::string text = head_json(sweep, rows).dump() + "\n";
  for (std::int64_t i = 0; i < rows.size(); ++i)
    text += row_json(sweep, i, row_of(rows.line(i))).dump() + "\n";
  return text;
}

std::string sweep_json(const Sweep& sweep, const RowStore& rows) {
  Json json = head_json(sweep, rows);
  Json list = Json::array();
  for (std::int64_t i = 0; i < rows.size(); ++i)
    list.push_back(row_json(sweep, i, row_of(rows.line(i))));
  json["rows"] = std::move(list);
  return json.dump(2) + "\n";
}

}  // namespace plateau
