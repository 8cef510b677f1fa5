#include <nlohmann/json.hpp>

#include "sim/validate/validation.h"

namespace plateau {

std::string validation_json(const Validation& validation) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["schema"] = "plateau-validate/1";
  json["file"] = validation.file;
  json["base"] = validation.base;
  json["profile"] = validation.profile;
  if (!validation.files.empty()) json["files"] = validation.files;
  json["metrics"] = Json::object();
  for (const auto& [metric, summary] : validation.metrics) {
    Json& entry = json["metrics"][metric];
    entry["n"] = summary.n;
    entry["mape_pct"] = summary.mape_pct;
    entry["bias_pct"] = summary.bias_pct;
    entry["worst_pct"] = summary.worst_pct;
    entry["worst_line"] = summary.worst_line;
    if (!summary.worst_file.empty()) entry["worst_scenario"] = summary.worst_file;
    entry["coverage_pct"] = summary.coverage_pct ? Json(*summary.coverage_pct) : Json(nullptr);
  }
  json["rows"] = Json::array();
  for (const ValidationRow& row : validation.rows) {
    Json entry;
    if (!row.file.empty()) {
      entry["scenario"] = row.file;
      entry["source"] = row.source;
      entry["note"] = row.note.empty() ? Json(nullptr) : Json(row.note);
      entry["profile"] = row.profile.empty() ? Json(nullptr) : Json(row.profile);
    }
    entry["line"] = row.line;
    entry["name"] = row.name;
    entry["inputs"] = row.inputs;
    entry["metrics"] = Json::object();
    for (const auto& [metric, pair] : row.metrics) {
      entry["metrics"][metric] = {{"measured", pair.measured},
                                  {"predicted", pair.predicted},
                                  {"error_pct", 100 * pair.error()},
                                  {"low", pair.low ? Json(*pair.low) : Json(nullptr)},
                                  {"high", pair.high ? Json(*pair.high) : Json(nullptr)},
                                  {"inside", pair.inside() ? Json(*pair.inside()) : Json(nullptr)}};
    }
    entry["warnings"] = row.warnings;
    json["rows"].push_back(std::move(entry));
  }
  if (!validation.notes.empty()) json["notes"] = validation.notes;
  const auto points = [](const std::vector<TimedValue>& of) {
    Json list = Json::array();
    for (const TimedValue& point : of) list.push_back({point.s, point.value});
    return list;
  };
  for (const MeasuredSeries& series : validation.series) {
    json["series"].push_back({{"name", series.name},
                              {"unit", series.unit},
                              {"measured", points(series.measured)},
                              {"predicted", points(series.predicted)}});
  }
  json["warnings"] = validation.warnings;
  return json.dump(2) + "\n";
}

}  // namespace plateau
