#include "sim/report/page.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibration/csv.h"
#include "sim/report/page_assets.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

Json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return parse_number(fmt::format("{:.6g}", value)).value_or(0);
}

// JSON that may stand inside a script element: `<` could end it.
std::string embedded(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// Replaces each @NAME@ of the shell once; what is put in is not looked at again.
std::string page_of(const std::string& title, const std::string& script, const Json& data) {
  const std::pair<std::string, std::string> fields[] = {
      {"@TITLE@", escaped(title)},
      {"@STYLE@", assets::kPageCss},
      {"@DATA@", embedded(data)},
      {"@SCRIPT@", std::string(assets::kChartsJs) + script},
  };
  const std::string shell = assets::kShellHtml;
  std::string page;
  std::size_t at = 0;
  for (const auto& [name, value] : fields) {
    const std::size_t found = shell.find(name, at);
    page += shell.substr(at, found - at) + value;
    at = found + name.size();
  }
  return page + shell.substr(at);
}

Json column_of(const std::vector<BatchPoint>& points, double (*value)(const BatchPoint&)) {
  Json column = Json::array();
  for (const BatchPoint& point : points) column.push_back(six_digits(value(point)));
  return column;
}

// Columns, by part; parts that never take time are left out.
Json parts_json(const std::vector<BatchPoint>& points, double scale,
                PartValues BatchPoint::*values) {
  Json json = Json::object();
  for (std::size_t part = 0; part < kParts; ++part) {
    Json column = Json::array();
    bool any = false;
    for (const BatchPoint& point : points) {
      any = any || (point.*values)[part] > 0;
      column.push_back(six_digits((point.*values)[part] * scale));
    }
    if (any) json[name_of(static_cast<Part>(part))] = column;
  }
  return json;
}

Json curve_json(const RoutedCurve& curve, int gpus) {
  const auto& points = curve.points;
  Json json = {{"name", curve.name}, {"law", curve.law}};
  json["running"] = column_of(points, [](const BatchPoint& p) { return p.running; });
  json["step_ms"] = column_of(points, [](const BatchPoint& p) { return p.seconds * 1e3; });
  json["tok_per_s"] = column_of(points, [](const BatchPoint& p) { return p.running / p.seconds; });
  json["gpu_w"] = column_of(points, [](const BatchPoint& p) { return p.joules / p.seconds; });
  json["gpu_j_per_token"] =
      column_of(points, [](const BatchPoint& p) { return p.joules / p.running; });
  json["beyond_tables"] = column_of(points, [](const BatchPoint& p) { return p.beyond_tables; });
  json["graph"] = column_of(points, [](const BatchPoint& p) { return p.graph ? 1.0 : 0.0; });
  json["active_experts"] = column_of(points, [](const BatchPoint& p) { return p.active_experts; });
  json["tokens_per_expert"] =
      column_of(points, [](const BatchPoint& p) { return p.tokens_per_expert; });
  json["tokens_per_expert_p99"] =
      column_of(points, [](const BatchPoint& p) { return p.tokens_per_expert_p99; });
  json["max_over_mean"] = column_of(points, [](const BatchPoint& p) { return p.max_over_mean; });
  json["part_ms"] = parts_json(points, 1e3, &BatchPoint::part_seconds);
  json["part_j"] = parts_json(points, gpus, &BatchPoint::part_joules);  // all GPUs
  return json;
}

Json latencies_json(const LatencyHistograms* latencies) {
  Json json = Json::object();
  if (latencies == nullptr) return json;
  for (int i = 0; i < LatencyHistograms::kLatencies; ++i) {
    const auto latency = static_cast<LatencyHistograms::Latency>(i);
    const Histogram histogram = latencies->histogram(latency);
    Json edges = Json::array();
    for (const double edge : histogram.edges_ms) edges.push_back(six_digits(edge));
    json[name_of(latency)] = {{"edges_ms", edges}, {"counts", histogram.counts}};
  }
  return json;
}

Json cell_json(const SweepColumn& column, const std::string& cell) {
  if (cell.empty()) return nullptr;
  const auto number = parse_number(cell);
  if (column.kind != SweepColumn::Kind::word && number) return *number;
  return cell;
}

const char* name_of(SweepColumn::Kind kind) {
  switch (kind) {
    case SweepColumn::Kind::varied:
      return "varied";
    case SweepColumn::Kind::figure:
      return "figure";
    case SweepColumn::Kind::word:
      return "word";
  }
  return "";
}

}  // namespace

std::string report_html(const Report& report, const PageData& data) {
  Json json = {{"schema", "plateau-page/1"}, {"kind", "report"}};
  json["headline"] = headline(report);
  json["report"] = Json::parse(report_json(report));
  json["batch"] = {{"context_tokens", six_digits(data.context_tokens)},
                   {"most_running", data.most_running},
                   {"most_running_why", data.most_running_why},
                   {"experts", data.experts},
                   {"top_k", data.top_k}};
  Json curves = Json::array();
  for (const RoutedCurve& curve : data.curves)
    curves.push_back(curve_json(curve, report.subject.gpus));
  json["batch"]["curves"] = curves;
  json["experts_of_a_step"] = {{"tokens", six_digits(data.heat_tokens)}, {"layers", data.heat}};
  json["latencies"] = latencies_json(data.latencies);
  return page_of("Plateau: " + report.subject.file,
                 std::string(assets::kReportJs) + assets::kReportRunJs, json);
}

std::string sweep_html(const SweepPage& page) {
  Json json = {{"schema", "plateau-page/1"},    {"kind", "sweep"},
               {"title", page.title},           {"question", page.question},
               {"infeasible", page.infeasible}, {"notes", page.notes}};
  Json columns = Json::array();
  for (const SweepColumn& column : page.columns)
    columns.push_back({{"name", column.name}, {"kind", name_of(column.kind)}});
  Json rows = Json::array();
  for (const auto& cells : page.rows) {
    Json row = Json::array();
    for (std::size_t i = 0; i < page.columns.size(); ++i)
      row.push_back(i < cells.size() ? cell_json(page.columns[i], cells[i]) : Json(nullptr));
    rows.push_back(row);
  }
  json["columns"] = columns;
  json["rows"] = rows;
  return page_of("Plateau sweep: " + page.title, assets::kSweepJs, json);
}

}  // namespace plateau
