#include "calibration/import/series.h"

#include <algorithm>
#include <utility>

#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

constexpr std::size_t kRowHeader = 3;
// Names that all differ (a trace of generated kernels) must not fill the memory.
constexpr std::size_t kMostWordBytes = std::size_t{64} << 20;
constexpr std::string_view kOtherWord = "(other)";

}  // namespace

std::size_t Series::column(std::string_view name, bool text) {
  const auto found = index_.find(name);
  if (found != index_.end()) {
    if (columns_[found->second].text == text) return found->second;
    return column(std::string(name) + (text ? "_text" : "_number"), text);
  }
  columns_.push_back({std::string(name), text});
  index_.emplace(std::string(name), columns_.size() - 1);
  row_.resize(columns_.size(), kMissing);
  return columns_.size() - 1;
}

std::optional<std::size_t> Series::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

void Series::begin_row(int file, std::int64_t line) {
  row_file_ = file;
  row_line_ = line;
  std::fill(row_.begin(), row_.end(), kMissing);
  row_has_cells_ = false;
}

void Series::set(std::size_t column, double value) {
  if (!std::isfinite(value) || !std::isnan(row_[column])) return;
  row_[column] = value;
  row_has_cells_ = true;
}

void Series::set_word(std::size_t column, std::string_view word) {
  auto found = word_index_.find(word);
  if (found == word_index_.end() && word_bytes_ + word.size() > kMostWordBytes) {
    word = kOtherWord;
    found = word_index_.find(word);
  }
  if (found == word_index_.end()) {
    words_.emplace_back(word);
    word_bytes_ += word.size();
    found = word_index_.emplace(std::string(word), words_.size() - 1).first;
  }
  set(column, static_cast<double>(found->second));
}

bool Series::end_row() {
  if (!row_has_cells_) return false;
  memory_.push_back(row_file_);
  memory_.push_back(static_cast<double>(row_line_));
  memory_.push_back(static_cast<double>(row_.size()));
  memory_.insert(memory_.end(), row_.begin(), row_.end());
  ++rows_;
  if (memory_.size() * sizeof(double) >= kRowsInMemoryBytes) spill();
  return true;
}

void Series::spill() {
  if (!spilled_) spilled_.reset(std::tmpfile());
  const bool written = spilled_ && std::fwrite(memory_.data(), sizeof(double), memory_.size(),
                                               spilled_.get()) == memory_.size();
  if (!written) {
    throw InputError(Problem{"", 0, 0, "",
                             "the rows of '" + name_ +
                                 "' do not fit in memory and no "
                                 "temporary file could be written",
                             "make room in the folder for temporary files"});
  }
  spilled_doubles_ += memory_.size();
  memory_.clear();
}

const double* Series::visit_block(const double* at, const double* end,
                                  const std::function<void(const Row&)>& visit) {
  while (end - at >= static_cast<std::ptrdiff_t>(kRowHeader)) {
    const auto count = static_cast<std::size_t>(at[2]);
    if (static_cast<std::size_t>(end - at) < kRowHeader + count) break;
    visit({static_cast<int>(at[0]), static_cast<std::int64_t>(at[1]), at + kRowHeader, count});
    at += kRowHeader + count;
  }
  return at;
}

void Series::for_each(const std::function<void(const Row&)>& visit) const {
  if (spilled_) {
    std::rewind(spilled_.get());
    std::vector<double> buffer;
    constexpr std::size_t kRead = std::size_t{1} << 16;
    for (std::size_t left = spilled_doubles_; left > 0;) {
      const std::size_t kept = buffer.size();
      buffer.resize(kept + std::min(left, kRead));
      const std::size_t got =
          std::fread(buffer.data() + kept, sizeof(double), buffer.size() - kept, spilled_.get());
      if (got != buffer.size() - kept) {
        throw InputError(
            Problem{"", 0, 0, "", "the temporary file of rows cannot be read back", ""});
      }
      left -= got;
      const double* rest = visit_block(buffer.data(), buffer.data() + buffer.size(), visit);
      buffer.erase(buffer.begin(), buffer.begin() + (rest - buffer.data()));
    }
    std::fseek(spilled_.get(), 0, SEEK_END);
  }
  visit_block(memory_.data(), memory_.data() + memory_.size(), visit);
}

void Series::split(const std::function<bool(const Row&)>& wanted, Series& other) {
  Series kept(name_);
  for (const Column& column : columns_) {
    kept.column(column.name, column.text);
    other.column(column.name, column.text);
  }
  for_each([&](const Row& row) {
    Series& target = wanted(row) ? other : kept;
    target.begin_row(row.file, row.line);
    for (std::size_t i = 0; i < row.count; ++i) {
      const std::optional<double> cell = row.number(i);
      if (!cell) continue;
      const std::size_t at = *target.find(columns_[i].name);
      columns_[i].text ? target.set_word(at, word(*cell)) : target.set(at, *cell);
    }
    target.end_row();
  });
  *this = std::move(kept);
}

}  // namespace plateau::imports
