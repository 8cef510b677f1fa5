// Kernel tables in AIConfigurator's columns: one CSV per operation, key columns, then latency (ms
// of one call on one GPU) and sometimes power (W). Every row counts, repeated keys too (the first
// is the one that the source uses); the order of the file is kept.
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "calibration/import/csv_cells.h"
#include "calibration/import/formats.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

constexpr std::array<std::string_view, 3> kConstants = {"framework", "version", "device"};

std::string column_of_table(std::string_view header) {
  if (header == "latency") return "latency_ms";
  if (header == "power") return "power_w";
  return column_name(header);
}

// "sglang-0.5.14/moe.csv.gz" -> engine, version, operation. Only labels: what the table holds is
// told by its columns.
struct TableLabel {
  std::string operation;
  std::string engine;
  std::string version;
};

TableLabel label_of(const std::string& file) {
  const std::filesystem::path path(file);
  TableLabel label;
  label.operation = path.filename().string();
  label.operation = label.operation.substr(0, label.operation.find('.'));
  constexpr std::string_view kSuffix = "_perf";
  const std::size_t stem =
      label.operation.size() - std::min(label.operation.size(), kSuffix.size());
  if (label.operation.substr(stem) == kSuffix) label.operation.resize(stem);
  const std::string folder = path.parent_path().filename().string();
  const std::size_t dash = folder.find('-');
  for (const char* engine : {"sglang", "vllm", "trtllm", "nccl"}) {
    if (dash == std::string::npos || folder.substr(0, dash) != engine) continue;
    label.engine = engine;
    label.version = folder.substr(dash + 1);
  }
  return label;
}

class KernelTable {
 public:
  explicit KernelTable(Recorder& recorder) : recorder_(recorder) {
    const TableLabel label = label_of(recorder.report().file);
    recorder.report().engine = label.engine;
    recorder.report().era = label.version.empty() ? "kernel table" : label.version;
    series_ = &recorder.series("table_" + column_name(label.operation));
  }

  void line(const Line& line, const std::vector<Cell>& cells) {
    if (columns_.empty()) {
      for (const Cell& cell : cells) columns_.push_back(column_of_table(cell.text));
      return;
    }
    if (cells.size() > columns_.size()) {
      return recorder_.ignore("rows with more cells than columns", line.number);
    }
    series_->begin_row(recorder_.file(), line.number);
    bool zero = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view text = cells[i].text;
      if (!cells[i].comma && !(i + 1 == columns_.size() && line.terminated)) continue;
      if (is_missing(text)) continue;
      if (constant(i, text, line.number)) continue;
      if (const auto read = number(text)) {
        series_->set(series_->column(columns_[i]), *read);
        zero = zero || (columns_[i] == "latency_ms" && *read == 0);
      } else {
        series_->set_word(series_->column(columns_[i], true), text);
      }
    }
    if (!series_->end_row()) return recorder_.ignore("rows without a value", line.number);
    recorder_.row();
    if (zero && zeros_++ == 0) first_zero_ = line.number;
  }

  void finish() {
    if (zeros_ == 0) return;
    recorder_.warn(first_zero_, std::to_string(zeros_) +
                                    " rows have latency 0 (a difference clipped at 0): kept, but "
                                    "useless for ratios");
  }

 private:
  // Columns that hold one text in a whole file are facts.
  bool constant(std::size_t column, std::string_view text, std::int64_t line) {
    const std::string& name = columns_[column];
    if (std::find(kConstants.begin(), kConstants.end(), name) == kConstants.end()) return false;
    if (facts_.insert(name).second) {
      recorder_.fact_text(name == "device"    ? "gpu_name"
                          : name == "version" ? "engine_version"
                                              : name,
                          text, line);
    }
    return true;
  }

  Recorder& recorder_;
  Series* series_ = nullptr;
  std::vector<std::string> columns_;
  std::set<std::string> facts_;
  std::int64_t zeros_ = 0;
  std::int64_t first_zero_ = 0;
};

}  // namespace

void import_kernel_table(ByteSource& bytes, Recorder& recorder) {
  LineSource lines(bytes);
  CsvCells splitter;
  KernelTable table(recorder);
  Line line;
  while (lines.next(line)) {
    if (trimmed(line.text).empty() || line.text[0] == '#') continue;
    table.line(line, splitter.split(line.text));
  }
  table.finish();
}

}  // namespace plateau::imports
