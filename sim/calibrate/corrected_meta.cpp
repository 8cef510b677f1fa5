// The corrected profile as a file (calibration/corrected_profile.h reads it).
#include <fmt/format.h>

#include "calibration/units.h"
#include "models/memory.h"
#include "sim/calibrate/calibration.h"

namespace plateau {

namespace {

// A YAML string that any text fits in.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + "\"";
}

std::string number(const CorrectionKey& key, double value) {
  if (key.dimension == Dimension::memory) return quoted(fmt::format("{} GiB", value / kGiB));
  return key.dimension ? quoted(format_quantity(value, *key.dimension)) : fmt::format("{}", value);
}

std::string corrections_yaml(const CalibrationResult& result) {
  std::string text;
  for (const Parameter& p : result.parameters) {
    if (!p.held_why.empty()) continue;
    const CorrectionKey& key = key_of(p.correction);
    text += fmt::format("  {}: {{value: {}, error: {}, samples: {}}}  # {}\n", key.key,
                        number(key, p.value), number(key, p.error), p.samples, key.meaning);
  }
  return text.empty() ? "corrections: {}\n" : "corrections:\n" + text;
}

std::string held_yaml(const CalibrationResult& result) {
  std::string text;
  for (const Parameter& p : result.parameters) {
    if (!p.held_why.empty())
      text += fmt::format("  {}: {}\n", key_of(p.correction).key, quoted(p.held_why));
  }
  return text.empty() ? "" : "held:  # at the base\n" + text;
}

std::string fit_yaml(const CalibrationResult& result) {
  std::string text = "fit:  # mean absolute error, %\n";
  for (const FitQuality& q : result.quantities) {
    text += fmt::format("  {}: {{samples: {}, base: {:.2f}, fitted: {:.2f}", q.name, q.samples,
                        q.base_mape_pct, q.fitted_mape_pct);
    if (q.cross_mape_pct) text += fmt::format(", cross_validated: {:.2f}", *q.cross_mape_pct);
    text += "}\n";
  }
  return text;
}

std::string measured_yaml(const CalibrationResult& result) {
  std::string text = "measured:\n";
  for (const UsedFile& file : result.files) {
    text += fmt::format("  - {{file: {}, kind: {}, samples: {}", quoted(file.file), file.kind,
                        file.used);
    if (file.used > 0)
      text += fmt::format(", first_line: {}, last_line: {}", file.first_line, file.last_line);
    if (!file.span.empty()) text += ", span: " + quoted(file.span);
    text += "}\n";
  }
  return text;
}

}  // namespace

std::string corrected_meta_yaml(const CalibrationResult& result, const std::string& base) {
  std::string text =
      "# Written by `plateau calibrate --measured`: a profile and what logs say about it.\n"
      "kind: corrected\n";
  text += "base: " + quoted(base) + "\nbase_digest: " + quoted(result.base_digest) + "\n";
  text += corrections_yaml(result) + held_yaml(result) + fit_yaml(result) + measured_yaml(result);
  text += "provenance:\n";
  text += "  source: " + quoted("logs of a deployment, over the base profile") + "\n";
  text += "  licence: " + quoted(result.licence) + "\n";
  text += "  date: " + quoted(result.date.empty() ? "not told" : result.date) + "\n";
  text += "  engine: " + quoted(result.engine.empty() ? "not told" : result.engine) + "\n";
  text += "  tool: plateau calibrate\n";
  return text;
}

}  // namespace plateau
