#include "calibration/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace plateau {
namespace {

constexpr std::size_t kShownProblems = 20;  // a file of another format would fail on every line

// Splits text into records in place: a quoted cell is moved over its own quotes, so every cell is
// one view into the buffer that starts where the cell stood in the file.
class RecordReader {
 public:
  RecordReader(std::string& buffer, std::string file) : buffer_(buffer), file_(std::move(file)) {
    if (buffer_.compare(0, 3, "\xEF\xBB\xBF") == 0) at_ = 3;
  }

  // False at the end of the text. Skips blank and comment lines.
  bool next(std::vector<std::string_view>& cells) {
    skip_lines_without_data();
    if (at_ >= buffer_.size()) return false;
    line_ = next_line_;
    record_start_ = at_;
    cells.clear();
    bool more = true;
    while (more) cells.push_back(cell(more));
    return true;
  }

  int line() const { return line_; }

 private:
  void skip_lines_without_data() {
    while (at_ < buffer_.size()) {
      const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
      const bool blank = end == at_ || (end == at_ + 1 && buffer_[at_] == '\r');
      if (!blank && buffer_[at_] != '#') return;
      at_ = std::min(end + 1, buffer_.size());
      ++next_line_;
    }
  }

  std::string_view cell(bool& more) {
    if (at_ < buffer_.size() && buffer_[at_] == '"') return quoted_cell(more);
    const std::size_t start = at_;
    at_ = std::min(buffer_.find_first_of(",\n\"", at_), buffer_.size());
    if (at_ < buffer_.size() && buffer_[at_] == '"') {
      fail("quote inside a cell that does not start with one",
           "quote the whole cell and double the quotes in it");
    }
    std::size_t end = at_;
    if ((at_ == buffer_.size() || buffer_[at_] == '\n') && end > start && buffer_[end - 1] == '\r')
      --end;
    more = finish_cell();
    return std::string_view(buffer_).substr(start, end - start);
  }

  std::string_view quoted_cell(bool& more) {
    const std::size_t start = at_++;
    std::size_t write = start;
    for (;; ++at_) {
      if (at_ >= buffer_.size()) fail("quoted cell never ends", "add the closing quote");
      if (buffer_[at_] == '"') {
        if (at_ + 1 >= buffer_.size() || buffer_[at_ + 1] != '"') break;
        ++at_;
      }
      if (buffer_[at_] == '\n') ++next_line_;
      buffer_[write++] = buffer_[at_];
    }
    ++at_;
    if (at_ < buffer_.size() && buffer_[at_] == '\r' &&
        (at_ + 1 == buffer_.size() || buffer_[at_ + 1] == '\n'))
      ++at_;
    if (at_ < buffer_.size() && buffer_[at_] != ',' && buffer_[at_] != '\n') {
      fail("text after the closing quote", "a quoted cell ends at its quote");
    }
    more = finish_cell();
    return std::string_view(buffer_).substr(start, write - start);
  }

  // Steps over the separator; true when another cell of the same record follows.
  bool finish_cell() {
    if (at_ >= buffer_.size()) {
      ++next_line_;
      return false;
    }
    const bool same_record = buffer_[at_] == ',';
    if (!same_record) ++next_line_;
    ++at_;
    return same_record;
  }

  [[noreturn]] void fail(std::string message, std::string hint) const {
    const auto column = static_cast<int>(std::min(at_, buffer_.size()) - record_start_ + 1);
    throw InputError(Problem{file_, line_, column, "", std::move(message), std::move(hint)});
  }

  std::string& buffer_;
  std::string file_;
  std::size_t at_ = 0;
  std::size_t record_start_ = 0;
  int line_ = 0;
  int next_line_ = 1;
};

std::vector<std::string> header_of(const std::vector<std::string_view>& cells,
                                   const std::string& file, int line) {
  std::vector<std::string> columns(cells.begin(), cells.end());
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto column = static_cast<int>(cells[i].data() - cells[0].data()) + 1;
    if (columns[i].empty()) {
      problems.push_back(
          {file, line, column, "", "column " + std::to_string(i + 1) + " has no name", ""});
    } else if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i),
                         columns[i]) != columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      problems.push_back({file, line, column, columns[i], "column appears twice",
                          "every column has its own name"});
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return columns;
}

}  // namespace

CsvTable CsvTable::parse(std::string_view text, const std::string& file) {
  CsvTable table;
  table.file_ = file;
  auto buffer = std::make_shared<std::string>(text);
  table.storage_ = buffer;
  RecordReader reader(*buffer, file);
  std::vector<std::string_view> cells;
  if (!reader.next(cells))
    throw InputError(Problem{file, 0, 0, "", "no header row", "the table is empty"});
  table.columns_ = header_of(cells, file, reader.line());
  std::vector<Problem> problems;
  while (problems.size() < kShownProblems && reader.next(cells)) {
    if (cells.size() != table.columns_.size()) {
      problems.push_back(
          {file, reader.line(), 0, "",
           std::to_string(cells.size()) + " cells where the header has " +
               std::to_string(table.columns_.size()),
           cells.size() < table.columns_.size() ? "the row is short" : "the row is long"});
      continue;
    }
    table.cells_.insert(table.cells_.end(), cells.begin(), cells.end());
    table.lines_.push_back(reader.line());
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return table;
}

CsvTable CsvTable::read(const std::string& path) { return parse(read_file(path), path); }

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  const std::string near = closest(name, columns_);
  std::string hint = "did you mean its column \"" + near + "\"?";
  if (near.empty()) {
    hint = "the file has:";
    for (const std::string& column : columns_) hint += " " + column;
  }
  throw InputError(Problem{file_, 0, 0, std::string(name), "missing column", std::move(hint)});
}

std::string_view CsvTable::text(std::size_t row, std::size_t column) const {
  return cells_[row * columns_.size() + column];
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view cell = text(row, column);
  if (const auto value = parse_number(cell)) return *value;
  throw InputError(problem(row, column,
                           cell.empty() ? "empty where a number is due"
                                        : "not a number: \"" + std::string(cell) + "\""));
}

std::optional<double> CsvTable::optional_number(std::size_t row, std::size_t column) const {
  if (text(row, column).empty()) return std::nullopt;
  return number(row, column);
}

Problem CsvTable::problem(std::size_t row, std::size_t column, std::string message,
                          std::string hint) const {
  const std::string_view first = text(row, 0);
  const auto place = static_cast<int>(text(row, column).data() - first.data()) + 1;
  return {file_, lines_[row], place, columns_[column], std::move(message), std::move(hint)};
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

}  // namespace plateau
