// Cells of a series by column name; a column that the series lacks is missing in every row.
#pragma once

#include <optional>
#include <string_view>

#include "calibration/import/series.h"

namespace plateau::imports {

class SeriesReader {
 public:
  explicit SeriesReader(const Series& series) : series_(series) {}
  // Of a column of numbers; missing in one of words.
  std::optional<double> operator()(const Series::Row& row, std::string_view column) const {
    return cell(row, column, false);
  }
  // Of a column of words; empty in one of numbers.
  std::string_view word(const Series::Row& row, std::string_view column) const {
    const std::optional<double> at = cell(row, column, true);
    return at ? std::string_view(series_.word(*at)) : std::string_view();
  }

 private:
  std::optional<double> cell(const Series::Row& row, std::string_view column, bool text) const {
    const std::optional<std::size_t> at = series_.find(column);
    return at && series_.columns()[*at].text == text ? row.number(*at) : std::nullopt;
  }

  const Series& series_;
};

}  // namespace plateau::imports
