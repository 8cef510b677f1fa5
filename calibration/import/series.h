// A table of one kind of record (decode lines, power samples, kernels), one row per record.
//
// A column's unit stands in its name (power_w, step_s); a count has the plural of what it counts. A
// cell that the source did not give is missing, never 0. Each row keeps the file and the line it
// came from. Rows beyond kRowsInMemoryBytes go to an unnamed temporary file, so that a log of
// gigabytes can be imported in bounded memory; they are read back in order.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plateau::imports {

struct Column {
  std::string name;
  bool text = false;  // cells are words of Series::words()
};

class Series {
 public:
  explicit Series(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<Column>& columns() const { return columns_; }
  std::int64_t rows() const { return rows_; }

  // Finds a column or makes it. Words and numbers under one name get a column each (name_text,
  // name_number for the later kind).
  std::size_t column(std::string_view name, bool text = false);
  std::optional<std::size_t> find(std::string_view name) const;

  // Building a row: begin, set cells, end. A row without cells is not kept. A number that is not
  // finite is missing; the first value set for a cell stands.
  void begin_row(int file, std::int64_t line);
  void set(std::size_t column, double value);
  void set_word(std::size_t column, std::string_view word);
  bool row_has_cells() const { return row_has_cells_; }
  bool end_row();  // true: kept

  struct Row {
    int file = 0;
    std::int64_t line = 0;
    const double* cells = nullptr;
    std::size_t count = 0;

    std::optional<double> number(std::size_t column) const {
      if (column >= count || std::isnan(cells[column])) return std::nullopt;
      return cells[column];
    }
  };
  const std::string& word(double cell) const { return words_[static_cast<std::size_t>(cell)]; }

  void for_each(const std::function<void(const Row&)>& visit) const;
  // Moves the rows that `other` wants into a series of the same columns.
  void split(const std::function<bool(const Row&)>& wanted, Series& other);

 private:
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  static constexpr std::size_t kRowsInMemoryBytes = std::size_t{8} << 20;
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void spill();
  static const double* visit_block(const double* at, const double* end,
                                   const std::function<void(const Row&)>& visit);

  std::string name_;
  std::vector<Column> columns_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> words_;
  std::map<std::string, std::size_t, std::less<>> word_index_;
  std::size_t word_bytes_ = 0;
  std::int64_t rows_ = 0;

  int row_file_ = 0;
  std::int64_t row_line_ = 0;
  std::vector<double> row_;
  bool row_has_cells_ = false;

  std::vector<double> memory_;  // rows: file, line, cell count, cells
  std::unique_ptr<std::FILE, FileCloser> spilled_;
  std::size_t spilled_doubles_ = 0;
};

}  // namespace plateau::imports
