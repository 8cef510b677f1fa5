// CSV tables: a header row, `#` comment lines (provenance), RFC-4180 quoting, plain or gzip.
//
// Lines end in LF or CRLF, the last one may lack it; blank lines are skipped, a UTF-8 byte order
// mark too. The dialect is strict because a table feeds predictions: a missing column, a short row
// or a non-number where a number is due is an InputError naming file, line and column; nothing is
// ever filled with 0.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/input_error.h"

namespace plateau {

class CsvTable {
 public:
  static CsvTable parse(std::string_view text, const std::string& file);
  static CsvTable read(const std::string& path);  // gzip is recognised by content

  const std::string& file() const { return file_; }
  std::size_t rows() const { return lines_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;
  std::size_t column(std::string_view name) const;  // throws, with "did you mean"
  int line(std::size_t row) const { return lines_[row]; }

  std::string_view text(std::size_t row, std::size_t column) const;
  double number(std::size_t row, std::size_t column) const;  // throws on "" and non-numbers
  std::optional<double> optional_number(std::size_t row,
                                        std::size_t column) const;  // "" is nothing
  Problem problem(std::size_t row, std::size_t column, std::string message,
                  std::string hint = "") const;

 private:
  std::string file_;
  std::shared_ptr<const std::string>
      storage_;  // quoted cells collapsed in place; copies of the table share it
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;  // row-major, into storage_
  std::vector<int> lines_;
};

// Whole file, gunzipped if it is gzip. Throws InputError when it cannot be read, is damaged, or
// unpacks to more than 4 GiB.
std::string read_file(const std::string& path);

// Writes to a temporary name beside it and renames: an interrupted run leaves no half file. Throws
// InputError.
void write_file(const std::string& path, std::string_view content);

// Strict number: the whole text, no spaces; nothing for "", "N/A" and garbage. Accepts neither nan
// nor inf.
std::optional<double> parse_number(std::string_view text);

}  // namespace plateau
