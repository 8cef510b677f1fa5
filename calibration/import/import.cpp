#include "calibration/import/import.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "calibration/import/formats.h"
#include "calibration/import/recognise.h"
#include "calibration/import/sglang_log.h"
#include "calibration/import/vllm_log.h"
#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

constexpr const char* kKnown =
    "known: SGLang and vLLM logs, benchmark results (JSON, table), server info, nvidia-smi, dmon, "
    "amd-smi, "
    "DCGM, decode grids, nsys CSV, Kineto traces, kernel tables, request traces";

void read(FileKind kind, ByteSource& bytes, const std::vector<std::string>& columns,
          Recorder& recorder) {
  switch (kind) {
    case FileKind::sglang_log:
      return import_sglang_log(bytes, recorder);
    case FileKind::vllm_log:
      return import_vllm_log(bytes, recorder);
    case FileKind::bench_console:
      return import_bench_console(bytes, recorder);
    case FileKind::gpu_csv:
      return import_gpu_csv(bytes, recorder, columns);
    case FileKind::nvidia_smi_table:
      return import_nvidia_smi_table(bytes, recorder);
    case FileKind::dmon:
      return import_dmon(bytes, recorder);
    case FileKind::prometheus:
      return import_prometheus(bytes, recorder);
    case FileKind::bench_json:
      return import_bench_json(bytes, recorder);
    case FileKind::server_info:
      return import_server_info(bytes, recorder);
    case FileKind::decode_grid:
      return import_decode_grid(bytes, recorder);
    case FileKind::kineto:
      return import_kineto(bytes, recorder);
    case FileKind::request_jsonl:
      return import_request_jsonl(bytes, recorder);
    case FileKind::nsys_csv:
      return import_nsys_csv(bytes, recorder);
    case FileKind::kernel_table:
      return import_kernel_table(bytes, recorder);
    case FileKind::request_csv:
      return import_request_csv(bytes, recorder);
    case FileKind::request_log:
      return import_request_log(bytes, recorder);
    case FileKind::step_trace:
      return import_step_trace(bytes, recorder);
    case FileKind::measurement:
      return import_measurement(bytes, recorder);
    case FileKind::unknown:
    case FileKind::empty:
      return;
  }
}

const char* engine_of(FileKind kind) {
  if (kind == FileKind::sglang_log || kind == FileKind::server_info) return "sglang";
  return kind == FileKind::vllm_log ? "vllm" : "";
}

// Files of a folder in a fixed order.
std::vector<std::string> files_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; at != end && !error;
       at.increment(error)) {
    if (at->is_regular_file(error)) files.push_back(at->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void import_into(const std::string& path, const ImportOptions& options, Measurement& measurement,
                 std::vector<Problem>& problems) {
  try {
    import_source([&] { return ByteSource::open(path); }, options.columns, measurement);
  } catch (const InputError& error) {
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
  }
}

// Beside the tables of a folder stand manifests and licences: they are passed over.
bool is_kernel_table(const std::string& path) {
  try {
    ByteSource bytes = ByteSource::open(path);
    return recognise(bytes, false).kind == FileKind::kernel_table;
  } catch (const InputError&) {
    return false;
  }
}

void import_folder(const std::string& folder, const ImportOptions& options,
                   Measurement& measurement, std::vector<Problem>& problems) {
  const std::size_t before = measurement.files.size();
  for (const std::string& file : files_in(folder)) {
    if (is_kernel_table(file)) import_into(file, options, measurement, problems);
  }
  if (measurement.files.size() > before) return;
  problems.push_back(
      {folder, 0, 0, "", "is a folder without a kernel table", "give the files in it"});
}

}  // namespace

void import_sglang_log(ByteSource& bytes, Recorder& recorder) {
  LineSource lines(bytes);
  SglangLog log(recorder);
  Line line;
  while (lines.next(line)) log.line(line);
  log.finish();
}

void import_vllm_log(ByteSource& bytes, Recorder& recorder) {
  LineSource lines(bytes);
  VllmLog log(recorder);
  Line line;
  while (lines.next(line)) log.line(line);
  log.finish();
}

void import_source(const OpenBytes& open, const std::vector<std::string>& columns,
                   Measurement& measurement) {
  Recognised recognised;
  std::string name;
  {
    ByteSource bytes = open();
    name = bytes.name();
    recognised = recognise(bytes, !columns.empty());
  }
  if (recognised.kind == FileKind::empty) {
    throw InputError(Problem{name, 0, 0, "", "is empty", "give a log that was written to"});
  }
  if (recognised.kind == FileKind::unknown) {
    throw InputError(Problem{name, 1, 0, "", "is of no known format: " + recognised.seen, kKnown});
  }
  ByteSource bytes = open();
  bytes.head();
  FileReport report;
  report.file = name;
  report.kind = name_of(recognised.kind);
  report.engine = engine_of(recognised.kind);
  measurement.files.push_back(report);
  Recorder recorder(measurement, static_cast<int>(measurement.files.size()) - 1);
  read(recognised.kind, bytes, columns, recorder);
  if (!bytes.damage().empty()) {
    recorder.warn(0, bytes.damage() + ": what stood before is imported");
  }
  if (recorder.report().rows > 0) return;
  const FileReport& nothing = recorder.report();
  std::string why;
  for (const Ignored& ignored : nothing.ignored) {
    why += (why.empty() ? "" : "; ") + std::to_string(ignored.count) + " " + ignored.what;
  }
  const Problem problem{name,
                        0,
                        0,
                        "",
                        "is a " + nothing.kind + " without a single complete record",
                        why.empty() ? "" : "ignored: " + why};
  measurement.files.pop_back();
  throw InputError(problem);
}

Measurement import_files(const ImportOptions& options) {
  Measurement measurement;
  std::vector<Problem> problems;
  for (const std::string& path : options.files) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      import_folder(path, options, measurement, problems);
    } else {
      import_into(path, options, measurement, problems);
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return measurement;
}

}  // namespace plateau::imports
