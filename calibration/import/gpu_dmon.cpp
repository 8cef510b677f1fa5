// `nvidia-smi dmon`: columns by blanks, two header lines with # that repeat, `-` for missing.
//
//   # gpu   pwr gtemp mtemp    sm   mem
//   # Idx     W     C     C     %     %
//       0   241    61     -   100    43
#include "calibration/import/csv_cells.h"
#include "calibration/import/formats.h"
#include "calibration/import/gpu_columns.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

std::vector<Cell> words_of(const Line& line) {
  std::vector<Cell> words;
  std::string_view text = line.text;
  if (!text.empty() && text[0] == '#') text.remove_prefix(1);
  std::size_t at = 0;
  for (;;) {
    at = text.find_first_not_of(" \t,", at);
    if (at == kNowhere) return words;
    const std::size_t end = std::min(text.find_first_of(" \t,", at), text.size());
    words.push_back({text.substr(at, end - at), end < text.size()});
    at = end;
  }
}

class Dmon {
 public:
  explicit Dmon(Recorder& recorder) : recorder_(recorder) {}

  void line(const Line& line) {
    if (trimmed(line.text).empty()) return;
    std::vector<Cell> words = words_of(line);
    if (line.text[0] == '#') return header(words, line);
    if (!table_) return recorder_.ignore("rows before the header", line.number);
    if (date_ >= 0) join_time(words);
    table_->row(words, line);
  }

  void finish() {
    if (table_) table_->finish();
  }

 private:
  // The first # line names the columns, the second gives their units; both come again every page.
  void header(const std::vector<Cell>& words, const Line& line) {
    if (table_ || !line.terminated) return;
    if (names_.empty()) {
      for (const Cell& word : words) names_.emplace_back(word.text);
      return;
    }
    if (words.size() != names_.size()) {
      recorder_.fail(line.number, "the two header lines do not have the same number of columns",
                     "give the output of nvidia-smi dmon as it was printed");
    }
    std::vector<GpuColumn> columns;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == "Date") date_ = static_cast<int>(i);
      if (names_[i] == "Time") {
        columns.push_back({GpuColumn::Kind::time, "Time", "", ""});
        continue;
      }
      if (names_[i] == "Date") continue;
      columns.push_back(gpu_column({names_[i], std::string(words[i].text)}, GpuTool::dmon));
    }
    table_.emplace(recorder_, std::move(columns));
  }

  // "20250115 12:34:56" -> one cell "2025-01-15 12:34:56".
  void join_time(std::vector<Cell>& words) {
    const auto at = static_cast<std::size_t>(date_);
    if (words.size() < at + 2 || words[at].text.size() != 8) return;
    const std::string_view date = words[at].text;
    joined_ = std::string(date.substr(0, 4)) + "-" + std::string(date.substr(4, 2)) + "-" +
              std::string(date.substr(6, 2)) + " " + std::string(words[at + 1].text);
    words[at + 1].text = joined_;
    words.erase(words.begin() + date_);
  }

  Recorder& recorder_;
  std::vector<std::string> names_;
  std::optional<GpuTable> table_;
  int date_ = -1;
  std::string joined_;
};

}  // namespace

void import_dmon(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "dmon table";
  LineSource lines(bytes);
  Dmon dmon(recorder);
  Line line;
  while (lines.next(line)) dmon.line(line);
  dmon.finish();
}

}  // namespace plateau::imports
