// `nsys stats -f csv`: cuda_gpu_kern_sum (and its older names) and cuda_gpu_trace. Preamble lines
// are passed over; time units come from the header ("Total Time (ns)"); names with commas are
// quoted.
#include <algorithm>

#include "calibration/import/csv_cells.h"
#include "calibration/import/formats.h"
#include "calibration/import/gpu_events.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct NsysColumn {
  std::string column;
  bool name = false;
};

NsysColumn nsys_column(std::string_view header) {
  const HeaderCell cell = header_cell(header);
  if (cell.name == "Name" || cell.name == "Operation") return {"name", true};
  std::string name = column_name(cell.name);
  if (name == "time") name = "share";  // Time (%)
  std::string unit = column_name(cell.unit);
  if (cell.unit == "%") unit = "pct";
  if (cell.unit == "MB/s") unit = "mb_per_s";
  return {unit.empty() ? name : name + "_" + unit, false};
}

class Report {
 public:
  explicit Report(Recorder& recorder) : recorder_(recorder) {}

  void line(const Line& line, const std::vector<Cell>& cells) {
    if (cells.front().text.substr(0, 5) == "Time " || cells.front().text.substr(0, 5) == "Time(" ||
        cells.front().text.substr(0, 6) == "Start ") {
      if (line.terminated) header(cells);
      return;
    }
    if (columns_.empty() || !std::isdigit(static_cast<unsigned char>(line.text[0]))) {
      return recorder_.ignore("lines outside the table", line.number);
    }
    if (cells.size() > columns_.size()) {
      return recorder_.ignore("rows with more cells than columns", line.number);
    }
    row(line, cells);
  }

  void finish() { shares_.finish(recorder_); }

 private:
  void header(const std::vector<Cell>& cells) {
    trace_ = cells.front().text.substr(0, 5) == "Start";
    recorder_.report().kind = trace_ ? "nsys_gpu_trace" : "nsys_kern_sum";
    columns_.clear();
    for (const Cell& cell : cells) columns_.push_back(nsys_column(cell.text));
  }

  void row(const Line& line, const std::vector<Cell>& cells) {
    Series& series = recorder_.series(trace_ ? "gpu_events" : "kernels");
    series.begin_row(recorder_.file(), line.number);
    double time = 0;
    std::string name;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].comma && !(i + 1 == columns_.size() && line.terminated)) continue;
      if (columns_[i].name) {
        name = std::string(cells[i].text);
      } else if (const auto read = number(cells[i].text)) {
        series.set(series.column(columns_[i].column), *read);
        if (i == 1) time = *read;  // total or duration
      } else if (!is_missing(cells[i].text)) {
        series.set_word(series.column(columns_[i].column, true), cells[i].text);
      }
    }
    if (!series.row_has_cells()) return recorder_.ignore("rows without a value", line.number);
    if (!name.empty()) {
      series.set_word(series.column("name", true), name);
      series.set_word(series.column("class", true), name_of(shares_.add(name, time)));
    }
    series.end_row();
    recorder_.row();
  }

  Recorder& recorder_;
  std::vector<NsysColumn> columns_;
  bool trace_ = false;
  ClassShares shares_;
};

}  // namespace

void import_nsys_csv(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "nsys stats CSV";
  LineSource lines(bytes);
  CsvCells splitter;
  Report report(recorder);
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty()) continue;
    report.line(line, splitter.split(line.text));
  }
  report.finish();
}

}  // namespace plateau::imports
