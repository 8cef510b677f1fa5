// A CSV of measured points as series: rows that agree in every column that names a configuration.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/csv.h"

namespace plateau {

using SkippedRows = std::vector<std::pair<std::string, int>>;  // reason, rows

struct TableSeries {
  std::string name;  // labels that differ between series, joined
  std::map<std::string, std::string> labels;
  std::vector<std::size_t> rows;
};

class SeriesTable {
 public:
  // `where`: column=value, all of them must hold. Throws InputError.
  SeriesTable(const std::string& path, const std::vector<std::string>& where);

  const CsvTable& table() const { return table_; }
  const std::vector<TableSeries>& series() const { return series_; }
  int rows_left_out() const { return left_out_; }  // by `where`

  // The first of `names` that is a column. Throws InputError naming all of them.
  std::size_t column_of(const std::vector<std::string>& names) const;
  // A cell that must be a number above 0; complains and gives nothing otherwise.
  std::optional<double> positive(std::size_t row, std::size_t column);
  void finish() const;  // throws what was complained of

 private:
  void group(const std::vector<std::pair<std::size_t, std::string>>& wanted);

  CsvTable table_;
  std::vector<TableSeries> series_;
  std::vector<Problem> problems_;
  int left_out_ = 0;
};

}  // namespace plateau
