#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/memory.h"
#include "sim/calibrate/calibration.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

// "1.037 x", "3.11 ms", "125 W": three digits more than needed hide nothing.
std::string value_text(const CorrectionKey& key, double value) {
  if (!key.dimension) return fmt::format("{:.4g} x", value);
  if (*key.dimension == Dimension::power) return fmt::format("{:.4g} W", value);
  if (*key.dimension == Dimension::memory) return fmt::format("{:.4g} GiB", value / kGiB);
  if (value != 0 && value < 1e-3) return fmt::format("{:.4g} us", value * 1e6);
  return fmt::format("{:.4g} ms", value * 1e3);
}

// `text` after `first`, in lines that a terminal shows whole.
std::string told(const std::string& first, const std::string& text) {
  constexpr std::size_t kColumns = 80;
  std::string lines;
  for (const std::string& line : wrap(first, text, kColumns, LongWords::kept)) lines += line + "\n";
  return lines;
}

std::string files_text(const CalibrationResult& result) {
  std::string text;
  for (const UsedFile& file : result.files) {
    text += told("", fmt::format("{}: {}{}{}", file.file, file.kind, file.span.empty() ? "" : ", ",
                                 file.span));
    if (file.used > 0)
      text +=
          fmt::format("  {} samples, lines {} to {}\n", file.used, file.first_line, file.last_line);
    for (const auto& [reason, count] : file.dropped)
      text += told("  ", fmt::format("{} lines left out: {}", count, reason));
  }
  return text;
}

std::string parameters_text(const CalibrationResult& result) {
  std::string fitted = fmt::format("  {:<18} {:>11} {:>11} {:>11} {:>8}\n", "parameter", "value",
                                   "+-", "base", "samples");
  std::string held;
  for (const Parameter& p : result.parameters) {
    const CorrectionKey& key = key_of(p.correction);
    const std::string base = value_text(key, p.base);
    if (p.held_why.empty()) {
      fitted += fmt::format("  {:<18} {:>11} {:>11} {:>11} {:>8}\n", key.key,
                            value_text(key, p.value), value_text(key, p.error), base, p.samples);
      fitted += told("      ", key.meaning);
    } else {
      held += told(fmt::format("  {:<18} {:>7}  ", key.key, base), p.held_why);
    }
  }
  return "\nFitted over " + result.base + "\n" + fitted +
         (held.empty() ? "" : "\nHeld at the base\n" + held);
}

std::string quality_text(const CalibrationResult& result) {
  std::string text;
  for (const FitQuality& q : result.quantities) {
    text += "\n" + told("", fmt::format("{}: {} samples; mean error {:.1f} % with the base, {:.2f} "
                                        "% fitted (worst {:.1f} %)",
                                        q.name, q.samples, q.base_mape_pct, q.fitted_mape_pct,
                                        q.worst_pct));
    if (!q.cross_mape_pct) {
      text += "  not cross-validated: too few samples to leave some out\n";
      continue;
    }
    std::string folds =
        fmt::format("{:.2f} % predicted without being fitted on:", *q.cross_mape_pct);
    for (const Fold& fold : q.folds)
      folds += fmt::format(" {} {:.2f} %{}", fold.left_out, fold.mape_pct,
                           &fold == &q.folds.back() ? "" : ";");
    text += told("  ", folds);
  }
  return text;
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json parameter_json(const Parameter& p) {
  const CorrectionKey& key = key_of(p.correction);
  return {{"name", key.key},
          {"unit", key.unit},
          {"value", p.value},
          {"standard_error", p.held_why.empty() ? Json(p.error) : Json(nullptr)},
          {"base", p.base},
          {"samples", p.samples},
          {"held", or_null(p.held_why)}};
}

Json quantity_json(const FitQuality& q) {
  Json folds = Json::array();
  for (const Fold& fold : q.folds) {
    folds.push_back(
        {{"left_out", fold.left_out}, {"samples", fold.samples}, {"mape_pct", fold.mape_pct}});
  }
  return {{"name", q.name},
          {"samples", q.samples},
          {"base_mape_pct", q.base_mape_pct},
          {"fitted_mape_pct", q.fitted_mape_pct},
          {"worst_pct", q.worst_pct},
          {"cross_validated_mape_pct", q.cross_mape_pct ? Json(*q.cross_mape_pct) : Json(nullptr)},
          {"folds", folds}};
}

Json file_json(const UsedFile& file) {
  return {{"file", file.file},
          {"kind", file.kind},
          {"engine", or_null(file.engine)},
          {"era", or_null(file.era)},
          {"span", or_null(file.span)},
          {"samples", file.used},
          {"first_line", file.first_line},
          {"last_line", file.last_line},
          {"left_out", file.dropped}};
}

}  // namespace

std::string calibration_text(const CalibrationResult& result) {
  std::string text = files_text(result) + parameters_text(result) + quality_text(result);
  if (!result.power_text.empty()) text += "\n" + told("", result.power_text);
  if (result.unexplained_gib)
    text += fmt::format(
        "\nKV pool of the log: {:.2f} GiB per GPU are unexplained by the engine's "
        "memory rule\n",
        *result.unexplained_gib);
  if (!result.contradictions.empty()) text += "\nContradictions\n";
  for (const std::string& line : result.contradictions) text += told("  ", line);
  if (!result.notes.empty()) text += "\nNotes\n";
  for (const std::string& line : result.notes) text += told("  ", line);
  return text;
}

std::string calibration_json(const CalibrationResult& result) {
  Json json = {{"schema", "plateau-calibrate/1"},
               {"scenario", result.scenario},
               {"base", result.base},
               {"engine", or_null(result.engine)}};
  for (const char* list : {"files", "parameters", "quantities", "residuals"})
    json[list] = Json::array();
  for (const UsedFile& file : result.files) json["files"].push_back(file_json(file));
  for (const Parameter& p : result.parameters) json["parameters"].push_back(parameter_json(p));
  for (const FitQuality& q : result.quantities) json["quantities"].push_back(quantity_json(q));
  for (const SamplePoint& point : result.points) {
    json["residuals"].push_back({{"quantity", point.quantity},
                                 {"file", point.file},
                                 {"line", point.line},
                                 {"running", point.running},
                                 {"context_tokens", point.context},
                                 {"measured", point.measured},
                                 {"base", point.base},
                                 {"fitted", point.fitted}});
  }
  json["unexplained_kv_gib"] =
      result.unexplained_gib ? Json(*result.unexplained_gib) : Json(nullptr);
  json["engine_keys"] = Json::object();
  for (const auto& [key, value] : result.engine_keys) json["engine_keys"][key] = value;
  json["power_samples"] = or_null(result.power_text);
  json["contradictions"] = result.contradictions;
  json["notes"] = result.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plateau
