// Cells of one CSV line (RFC 4180 quoting, blanks around cells dropped) that know whether they
// ended.
//
// The strict tables of calibration/csv.h refuse a short row; here a row may be cut anywhere, and
// the cells before the cut still count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/line_source.h"

namespace plateau::imports {

struct Cell {
  std::string_view text;
  bool comma = false;  // a comma followed
};

class CsvCells {
 public:
  // Valid until the next call or the next line.
  const std::vector<Cell>& split(std::string_view line);

 private:
  std::vector<Cell> cells_;
  std::vector<std::string> unquoted_;
};

// "power.draw [W]" and "power_usage (W)" -> name and unit.
struct HeaderCell {
  std::string name;
  std::string unit;
};
HeaderCell header_cell(std::string_view text);

// "[N/A]", "-", "" and the like.
bool is_missing(std::string_view text);

}  // namespace plateau::imports
