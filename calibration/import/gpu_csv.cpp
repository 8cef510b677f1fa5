// nvidia-smi --query-gpu CSV with and without header and units, amd-smi CSV, CSV of own monitor
// scripts.
#include <algorithm>

#include "calibration/import/csv_cells.h"
#include "calibration/import/formats.h"
#include "calibration/import/gpu_columns.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

bool is_header(const std::vector<Cell>& cells) {
  // Names hold letters and no cell is a number, with or without unit.
  return std::none_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return leading_number(cell.text) || is_missing(cell.text);
  });
}

bool any_of(const std::vector<std::string>& names, std::initializer_list<const char*> wanted) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const char* word) { return name == word; });
  });
}

// A column without a name, by the unit of its cell. Two columns of one unit cannot be told apart.
GpuColumn column_of_cell(std::string_view text, std::size_t position, bool alone) {
  using Kind = GpuColumn::Kind;
  const std::string place = "column " + std::to_string(position + 1);
  if (leading_date_time(text)) return {Kind::time, place, "", ""};
  const std::optional<Leading> found = leading_number(text);
  if (!found) {
    if (text.size() <= 3 && text.substr(0, 1) == "P") return {Kind::word, place, "pstate", ""};
    if (contains(text, "NVIDIA") || contains(text, "Tesla"))
      return {Kind::word, place, "gpu_name", ""};
    return {Kind::skip, place, "", ""};
  }
  const std::string_view unit = trimmed(text.substr(found->length));
  if (unit.empty()) {
    if (position <= 1 && found->value < 128) return {Kind::gpu, place, "", ""};
    return {Kind::skip, place, "", ""};
  }
  std::string quantity = unit == "W"     ? "power"
                         : unit == "%"   ? "utilization"
                         : unit == "MHz" ? "clock"
                                         : "memory";
  if (!alone) quantity += "_" + std::to_string(position + 1);
  return {Kind::number, place, quantity, ""};
}

std::vector<GpuColumn> columns_of_cells(const std::vector<Cell>& cells, Recorder& recorder,
                                        std::int64_t line) {
  const auto unit_of = [](std::string_view text) {
    const auto found = leading_number(text);
    return found ? trimmed(text.substr(found->length)) : std::string_view();
  };
  std::vector<GpuColumn> columns;
  bool any = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view unit = unit_of(cells[i].text);
    const auto same = std::count_if(cells.begin(), cells.end(),
                                    [&](const Cell& cell) { return unit_of(cell.text) == unit; });
    columns.push_back(column_of_cell(cells[i].text, i, same == 1));
    any = any || columns.back().kind == GpuColumn::Kind::number;
    if (columns.back().quantity == "clock") {
      recorder.warn(line,
                    "no header: whether the clock is that of the SMs or of the graphics domain is "
                    "not known; it is kept as clock_mhz");
    }
  }
  if (!any) {
    recorder.fail(line, "neither a header nor units: what the columns hold is not known",
                  "name them with units: --columns 'index,power.draw [W],utilization.gpu "
                  "[%],clocks.sm [MHz]'");
  }
  return columns;
}

std::vector<GpuColumn> columns_of_header(const std::vector<std::string>& names, GpuTool tool) {
  std::vector<GpuColumn> columns;
  for (const std::string& name : names) columns.push_back(gpu_column(header_cell(name), tool));
  return columns;
}

GpuTool tool_of(const std::vector<std::string>& names, Recorder& recorder) {
  FileReport& report = recorder.report();
  std::vector<std::string> plain;
  bool dotted = false;
  for (const std::string& name : names) {
    plain.push_back(lower(header_cell(name).name));
    dotted = dotted || contains(plain.back(), ".");
  }
  if (any_of(plain, {"socket_power", "current_socket_power", "average_socket_power", "power_usage",
                     "gfx_activity", "gfx_clock", "average graphics package power (w)",
                     "average graphics package power", "current socket graphics package power"})) {
    report.kind = "amd_smi_csv";
    report.era = "CSV with header";
    return GpuTool::amd_smi;
  }
  report.kind = dotted ? "nvidia_smi_csv" : "gpu_monitor_csv";
  report.era = "CSV with header";
  return GpuTool::nvidia_smi;
}

std::vector<std::string> names_of(const std::vector<Cell>& cells) {
  std::vector<std::string> names;
  for (const Cell& cell : cells) names.emplace_back(cell.text);
  return names;
}

}  // namespace

void import_gpu_csv(ByteSource& bytes, Recorder& recorder,
                    const std::vector<std::string>& columns) {
  LineSource lines(bytes);
  CsvCells splitter;
  std::optional<GpuTable> table;
  std::vector<std::string> header = columns;
  if (!columns.empty()) {
    table.emplace(recorder, columns_of_header(columns, tool_of(columns, recorder)));
    recorder.report().era = "CSV with columns named by the user";
  }
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty() || line.text[0] == '#') continue;
    const std::vector<Cell>& cells = splitter.split(line.text);
    if (is_header(cells)) {
      const std::vector<std::string> names = names_of(cells);
      if (!line.terminated || names == header) continue;  // cut, or repeated by a restarted monitor
      if (table) {
        recorder.ignore("lines that are no rows", line.number);
        continue;
      }
      header = names;
      table.emplace(recorder, columns_of_header(names, tool_of(names, recorder)));
      continue;
    }
    if (!table) {
      recorder.report().kind = "nvidia_smi_csv";
      recorder.report().era = "CSV without header, units in the cells";
      table.emplace(recorder, columns_of_cells(cells, recorder, line.number));
    }
    table->row(cells, line);
  }
  if (table) table->finish();
}

}  // namespace plateau::imports
