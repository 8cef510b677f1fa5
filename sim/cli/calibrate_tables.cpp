// `plateau calibrate TABLES`: published kernel tables to a calibration profile.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "calibration/fit_tables.h"
#include "sim/cli/commands.h"

namespace plateau {

namespace {

// "moe_experts nvfp4 6144 2048 256 8"
std::string law_of(const Residual& residual) {
  std::string text = std::string(name_of(residual.key.op)) + " " + name_of(residual.key.dtype);
  for (const int size : residual.key.geometry) {
    if (size != 0) text += " " + std::to_string(size);
  }
  return text;
}

std::string to_text(const FitSummary& summary) {
  std::string text = fmt::format("{} laws; weights stream at {:.0f} GB/s\n\nTables\n", summary.laws,
                                 summary.weight_stream / 1e9);
  for (const TableUse& table : summary.tables) {
    text += fmt::format("  {}: {} of {} rows\n", table.file, table.used, table.rows);
    for (const auto& [reason, rows] : table.ignored)
      text += fmt::format("    {} left out: {}\n", rows, reason);
  }
  text += "\nResiduals, relative\n";
  text += fmt::format("  {:<44} {:<9} {:<8} {:>6} {:>7} {:>7} {:>7} {:>7}\n", "law", "set", "range",
                      "rows", "p50", "p90", "worst", "bias");
  for (const Residual& r : summary.residuals) {
    text += fmt::format("  {:<44} {:<9} {:<8} {:>6} {:>6.1f}% {:>6.1f}% {:>6.1f}% {:>+6.1f}%\n",
                        law_of(r), r.set, r.range, r.rows, r.p50 * 100, r.p90 * 100, r.worst * 100,
                        r.bias * 100);
  }
  if (!summary.notes.empty()) text += "\nNotes\n";
  for (const std::string& note : summary.notes) text += "  " + note + "\n";
  text += "\nWritten\n";
  for (const std::string& file : summary.files) text += "  " + file + "\n";
  return text;
}

std::string to_json(const FitSummary& summary) {
  nlohmann::ordered_json json;
  json["schema"] = "plateau-calibrate/1";
  json["laws"] = summary.laws;
  json["weight_stream_bytes_per_s"] = summary.weight_stream;
  json["tables"] = nlohmann::ordered_json::array();
  for (const TableUse& table : summary.tables) {
    json["tables"].push_back({{"file", table.file},
                              {"rows", table.rows},
                              {"used", table.used},
                              {"ignored", table.ignored}});
  }
  json["residuals"] = nlohmann::ordered_json::array();
  for (const Residual& r : summary.residuals) {
    json["residuals"].push_back({{"law", law_of(r)},
                                 {"set", r.set},
                                 {"range", r.range},
                                 {"rows", r.rows},
                                 {"p50", r.p50},
                                 {"p90", r.p90},
                                 {"worst", r.worst},
                                 {"bias", r.bias}});
  }
  json["notes"] = summary.notes;
  json["files"] = summary.files;
  return json.dump(2) + "\n";
}

}  // namespace

int calibrate_tables_command(const CalibrateArguments& arguments, const Terminal& terminal) {
  FitRequest request;
  request.table_folder = arguments.tables;
  request.system = arguments.system;
  request.engine = arguments.engine;
  request.nccl = arguments.nccl;
  request.borrow_from = arguments.borrow_from;
  request.device = arguments.device;
  request.data_folder =
      arguments.into.empty() ? terminal.data_dir + "/calibration/data" : arguments.into;
  request.source = arguments.source;
  request.licence = arguments.licence;
  request.date = arguments.date;
  const FitSummary summary = fit_profile(request);
  const std::string& json = arguments.common.json;
  if (!json.empty()) write_json(to_json(summary), json, terminal);
  if (json != "-") *terminal.out << to_text(summary);
  return kDone;
}

}  // namespace plateau
