// Names and units of GPU monitors (nvidia-smi, dmon, amd-smi, own scripts) in one vocabulary.
//
// A unit comes from the cell ("241.07 W"), else from the header ("power.draw [W]", "power_w"), else
// from the tool's documentation where it fixes one (temperature.gpu is degrees Celsius). A power,
// clock or memory figure without any of these is refused: 250 may be watts of one GPU or of a box,
// or percent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/csv_cells.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

struct GpuColumn {
  enum class Kind : std::uint8_t { time, gpu, number, word, skip };
  Kind kind = Kind::skip;
  std::string source;    // name in the file
  std::string quantity;  // "power", "sm_clock"; the unit is added: power_w, sm_clock_mhz
  std::string unit;      // of the header or the documentation; "" = the cells must say it
};

enum class GpuTool : std::uint8_t { nvidia_smi, amd_smi, dmon };
GpuColumn gpu_column(const HeaderCell& header, GpuTool tool);

// "power" + "W" -> power_w with factor 1; "mW" -> power_w with 0.001. Nothing for an unknown unit.
struct UnitColumn {
  std::string column;
  double factor = 1;
};
std::optional<UnitColumn> unit_column(std::string_view quantity, std::string_view unit);

// Writes rows of one file to the series "gpu_samples".
class GpuTable {
 public:
  GpuTable(Recorder& recorder, std::vector<GpuColumn> columns);
  // A cell counts when a comma followed, or it is the last column and the line had its newline, or
  // its unit stands behind it.
  void row(const std::vector<Cell>& cells, const Line& line);
  void finish();
  std::optional<double> row_time;  // for tables whose time stands outside the row

 private:
  void number_cell(const GpuColumn& column, std::string_view text, bool ended, std::int64_t line);
  void time_cell(std::string_view text, std::int64_t line);
  void gpu_cell(std::string_view text);

  Recorder& recorder_;
  Series& series_;
  std::vector<GpuColumn> columns_;
  std::size_t gpu_;
  ClockWatch clock_;
  std::map<double, std::int64_t> gpus_;
  std::int64_t missing_ = 0;
  std::int64_t first_missing_ = 0;
};

}  // namespace plateau::imports
