#include "calibration/import/recognise.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "calibration/import/csv_cells.h"
#include "calibration/import/gpu_columns.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/request_columns.h"
#include "calibration/import/sglang_log.h"
#include "calibration/import/token.h"
#include "calibration/import/vllm_log.h"

namespace plateau::imports {
namespace {

// Keys of the root object (or of the root array's first object) and whether text follows it.
class RootKeys : public JsonVisitor {
 public:
  void value(const JsonPath& path, const JsonValue&, std::int64_t) override { note(path); }
  void open(const JsonPath& path) override {
    if (path.depth() > 0) note(path);
  }
  bool has(const char* key) const { return keys.count(key) > 0; }
  std::set<std::string> keys;

 private:
  void note(const JsonPath& path) {
    if (path[0].array) {
      keys.insert("[]");
      if (path.depth() > 1) keys.insert("[]." + path[1].key);
      return;
    }
    keys.insert(path[0].key);
  }
};

FileKind kind_of_keys(const RootKeys& root) {
  if (root.has("fact_sources") && root.has("files")) return FileKind::measurement;
  if (root.has("traceEvents") || root.has("[].ph")) return FileKind::kineto;
  if (root.has("deviceProperties") && root.has("schemaVersion")) return FileKind::kineto;
  if (root.has("results") || root.has("summary_table")) return FileKind::decode_grid;
  if (root.has("metadata") && root.has("prefill")) return FileKind::decode_grid;
  if (root.has("internal_states")) return FileKind::server_info;
  const bool bench = root.has("duration") || root.has("request_rate") || root.has("dataset_name") ||
                     root.has("total_output_tokens") || root.has("endpoint_type") ||
                     (root.has("backend") && root.has("tag"));
  if (bench) return FileKind::bench_json;
  if (root.has("tp_size") || (root.has("model_path") && root.has("tokenizer_path"))) {
    return FileKind::server_info;
  }
  if (root.has("date") && root.has("model_id")) return FileKind::bench_json;
  const auto is_request = [](const std::string& key) {
    const auto column = request_column(key, "ms");
    return column && (column->column == "input_tokens" || column->column == "output_tokens");
  };
  if (std::any_of(root.keys.begin(), root.keys.end(), is_request)) return FileKind::request_jsonl;
  return FileKind::unknown;
}

Recognised recognise_json(std::string_view head, const std::string& name) {
  ByteSource bytes = ByteSource::memory(head, name);
  JsonStream stream(bytes, JsonStream::looks_like_lines(head));
  RootKeys root;
  // The first lines of a JSON Lines file may be broken.
  for (int i = 0; i < 5; ++i) {
    const JsonEnd end = stream.next(root);
    if (end == JsonEnd::none || end == JsonEnd::broken || !root.keys.empty()) break;
  }
  Recognised result{kind_of_keys(root), ""};
  if (result.kind != FileKind::unknown) return result;
  result.seen = root.keys.empty() ? "JSON that cannot be read" : "JSON with the keys";
  int shown = 0;
  for (const std::string& key : root.keys) {
    if (shown++ < 8) result.seen += (shown > 1 ? ", " : " ") + key.substr(0, 40);
  }
  return result;
}

bool any_cell(const std::vector<Cell>& cells, std::initializer_list<std::string_view> names) {
  return std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    const std::string name = lower(header_cell(cell.text).name);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

bool is_request_header(const std::vector<Cell>& cells) {
  int tokens = 0;
  for (const Cell& cell : cells) {
    const HeaderCell header = header_cell(cell.text);
    const auto column = request_column(header.name, header.unit);
    if (column && (column->column == "input_tokens" || column->column == "output_tokens")) ++tokens;
  }
  return tokens == 2;
}

// A row of such a table is a whole run: neither a request nor a sample of a GPU.
std::optional<std::string_view> run_column(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    const std::string name = column_name(header_cell(cell.text).name);
    for (const char* whole : {"concurrency", "max_concurrency", "max_num_seqs", "num_gpus", "tp",
                              "tp_size", "num_prompts"}) {
      if (name == whole) return cell.text;
    }
  }
  return std::nullopt;
}

// A figure of a GPU beside the time or the GPU it belongs to, or a name that only a monitor has.
bool is_gpu_header(const std::vector<Cell>& cells) {
  bool figure = false;
  bool sample = false;
  for (const Cell& cell : cells) {
    const HeaderCell header = header_cell(cell.text);
    const std::string lowered = lower(header.name);
    for (const char* own : {"power.draw", "utilization.gpu", "clocks.", "memory.used", "gfx_clock",
                            "socket_power", "power_usage", "package power"}) {
      if (contains(lowered, own)) return true;
    }
    const std::string name = "_" + column_name(header.name) + "_";
    for (const char* word : {"_power_", "_pwr_", "_sm_mhz_", "_clk_", "_watts_"}) {
      figure = figure || contains(name, word);
    }
    const GpuColumn::Kind kind = gpu_column(header, GpuTool::nvidia_smi).kind;
    sample = sample || kind == GpuColumn::Kind::time || kind == GpuColumn::Kind::gpu;
  }
  return figure && sample;
}

// The header line of a CSV, or a row with units.
FileKind kind_of_cells(const std::vector<Cell>& cells) {
  if (cells.size() < 2) return FileKind::unknown;
  const std::string_view first = cells.front().text;
  if (first.substr(0, 8) == "Time (%)" || first.substr(0, 7) == "Time(%)" ||
      first.substr(0, 7) == "Start (") {
    return FileKind::nsys_csv;
  }
  if (first == "phase" && any_cell(cells, {"start_s"})) return FileKind::step_trace;
  if (first == "t" && any_cell(cells, {"gen_throughput"})) return FileKind::step_trace;
  if (any_cell(cells, {"latency"}) && !is_request_header(cells)) return FileKind::kernel_table;
  if (is_request_header(cells)) {
    return run_column(cells) ? FileKind::unknown : FileKind::request_csv;
  }
  const bool names = std::none_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return leading_number(cell.text).has_value();
  });
  if (names) {
    return is_gpu_header(cells) && !run_column(cells) ? FileKind::gpu_csv : FileKind::unknown;
  }
  for (const Cell& cell : cells) {
    const auto value = leading_number(cell.text);
    if (!value) continue;
    const std::string_view unit = trimmed(cell.text.substr(value->length));
    if (unit == "W" || unit == "MHz" || unit == "MiB" || unit == "%") return FileKind::gpu_csv;
  }
  // Rows of plain numbers may be a monitor's without header and units: the importer says what to
  // do.
  const bool plain = std::all_of(cells.begin(), cells.end(), [](const Cell& cell) {
    return number(cell.text) || is_missing(cell.text) || leading_date_time(cell.text);
  });
  return plain && cells.size() >= 3 ? FileKind::gpu_csv : FileKind::unknown;
}

bool is_request_line(std::string_view text) {
  const std::string plain = lower(text);
  const bool tokens = contains(plain, "prompt_tokens") || contains(plain, "input_tokens") ||
                      contains(plain, "input_len") || contains(plain, "prompt_len") ||
                      contains(plain, "input=");
  const bool time = contains(plain, "ttft") || contains(plain, "latency") || contains(plain, "e2e");
  return tokens && time && (contains(plain, "=") || contains(plain, ":"));
}

FileKind kind_of_line(std::string_view text) {
  if (find_batch_phrase(text, 0) && contains(text, "#")) return FileKind::sglang_log;
  bool v0 = false;
  if (find_vllm_message(text, v0) != kNowhere) return FileKind::vllm_log;
  if (find_sglang_message(text) != kNowhere) return FileKind::sglang_log;
  if (contains(text, "Serving Benchmark Result")) return FileKind::bench_console;
  if (contains(text, "NVIDIA-SMI") && contains(text, "Driver Version"))
    return FileKind::nvidia_smi_table;
  if (text.substr(0, 4) == "DCGM" || text.substr(0, 11) == "# HELP DCGM" ||
      text.substr(0, 11) == "# TYPE DCGM" || text.substr(0, 7) == "sglang:" ||
      text.substr(0, 5) == "vllm:") {
    return FileKind::prometheus;
  }
  if (text.substr(0, 1) == "#" && contains(text, "gpu") &&
      (contains(text, " pwr") || contains(text, " sm ") || contains(text, "Date"))) {
    return FileKind::dmon;
  }
  return FileKind::unknown;
}

Recognised recognise_lines(ByteSource& bytes, bool columns) {
  LineSource lines(bytes);
  CsvCells splitter;
  Line line;
  Recognised result;
  FileKind weak = FileKind::unknown;
  int seen = 0;
  while (lines.next(line)) {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) continue;
    result.kind = kind_of_line(text);
    if (result.kind != FileKind::unknown) return result;
    constexpr int kHeaderLines = 200;  // preambles of tools are shorter
    if (++seen > kHeaderLines || text[0] == '#') continue;
    if (result.seen.empty())
      result.seen = "text that begins with '" + std::string(text.substr(0, 60)) + "'";
    const std::vector<Cell>& cells = splitter.split(text);
    result.kind = kind_of_cells(cells);
    if (result.kind != FileKind::unknown) return result;
    if (cells.size() > 2 && cells[0].text == "series" && cells[1].text == "file") {
      result.seen =
          "the CSV of `plateau import`, which is for other tools; import the logs with "
          "--out NAME.json to read them back";
      return result;
    }
    if (seen == 1 && cells.size() > 2) {
      if (const auto column = run_column(cells)) {
        result.seen = "a table of whole runs, by its column '" + std::string(*column) + "'";
        return result;
      }
    }
    if (weak == FileKind::unknown && is_request_line(text)) weak = FileKind::request_log;
    if (columns && weak == FileKind::unknown) weak = FileKind::gpu_csv;
  }
  result.kind = weak;
  if (seen == 0 && weak == FileKind::unknown) result.kind = FileKind::empty;
  return result;
}

}  // namespace

const char* name_of(FileKind kind) {
  switch (kind) {
    case FileKind::unknown:
      return "unknown";
    case FileKind::empty:
      return "empty";
    case FileKind::sglang_log:
      return "sglang_log";
    case FileKind::vllm_log:
      return "vllm_log";
    case FileKind::bench_console:
      return "bench_console";
    case FileKind::gpu_csv:
      return "nvidia_smi_csv";
    case FileKind::nvidia_smi_table:
      return "nvidia_smi_table";
    case FileKind::dmon:
      return "nvidia_smi_dmon";
    case FileKind::prometheus:
      return "prometheus_text";
    case FileKind::bench_json:
      return "bench_json";
    case FileKind::server_info:
      return "sglang_server_info";
    case FileKind::decode_grid:
      return "decode_grid";
    case FileKind::kineto:
      return "kineto_trace";
    case FileKind::request_jsonl:
      return "request_trace";
    case FileKind::nsys_csv:
      return "nsys_csv";
    case FileKind::kernel_table:
      return "kernel_table";
    case FileKind::request_csv:
      return "request_trace";
    case FileKind::request_log:
      return "request_log";
    case FileKind::step_trace:
      return "step_trace";
    case FileKind::measurement:
      return "measurement";
  }
  return "unknown";
}

Recognised recognise(ByteSource& bytes, bool columns) {
  const std::string_view head = bytes.head();
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos && head.size() < ByteSource::kHeadBytes)
    return {FileKind::empty, ""};
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) {
    // A log line may begin with '[' too: "[2025-12-12 08:43:59 TP0] ...".
    const Recognised json = recognise_json(head, bytes.name());
    const bool like_log = head[first] == '[' && first + 1 < head.size() &&
                          std::isdigit(static_cast<unsigned char>(head[first + 1])) != 0;
    if (json.kind != FileKind::unknown) return json;
    const Recognised log = recognise_lines(bytes, columns);
    if (like_log || (log.kind != FileKind::unknown && log.kind != FileKind::gpu_csv)) return log;
    return json;
  }
  return recognise_lines(bytes, columns);
}

}  // namespace plateau::imports
