// Cells of a series by column name; a column that the series lacks is missing in every row.
#pragma once

#include <optional>
#include <string_view>

#include "calibration/import/series.h"

namespace plateau::imports {

class SeriesReader {
 public:
  explicit SeriesReader(const Series& series) : series_(series) {}
  std::optional<double> operator()(const Series::Row& row, std::string_view column) const {
    const std::optional<std::size_t> at = series_.find(column);
    return at ? row.number(*at) : std::nullopt;
  }
  // Of a column of words.
  std::string_view word(const Series::Row& row, std::string_view column) const {
    const std::optional<double> cell = (*this)(row, column);
    return cell ? std::string_view(series_.word(*cell)) : std::string_view();
  }

 private:
  const Series& series_;
};

}  // namespace plateau::imports
