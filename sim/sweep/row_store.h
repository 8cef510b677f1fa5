// The rows of a sweep so far, in memory and, so that an interrupted sweep can go on, in a file
// beside its output: OUTPUT.partial.
//
// The file's first line names the sweep by its fingerprint; each further line is a point and its
// row, in the order in which they came. A line that the interruption cut off is dropped. The file
// of another sweep is refused, and so is one that another process is writing. A row that cannot be
// written (full disk) ends the sweep; the file then holds whole rows only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plateau {

class RowStore {
 public:
  explicit RowStore(std::int64_t points);  // memory only
  // Opens or makes the file, which is then ours. Throws InputError.
  RowStore(const std::string& path, const std::string& fingerprint, std::int64_t points);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  void put(std::int64_t point, std::string line);
  bool has(std::int64_t point) const { return !lines_[static_cast<std::size_t>(point)].empty(); }
  const std::string& line(std::int64_t point) const {
    return lines_[static_cast<std::size_t>(point)];
  }
  std::int64_t size() const { return static_cast<std::int64_t>(lines_.size()); }
  std::int64_t done() const { return done_; }
  std::vector<std::int64_t> missing() const;
  void remove_file();  // once the output is written

 private:
  void load(const std::string& content, const std::string& header);
  void append(const std::string& text);
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const;

  std::vector<std::string> lines_;
  std::int64_t done_ = 0;
  std::string path_;
  int file_ = -1;
  std::int64_t whole_ = 0;  // bytes of whole lines in the file
};

}  // namespace plateau
