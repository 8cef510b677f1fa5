// Which format a file has, by its content: names and endings are not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "calibration/import/byte_source.h"

namespace plateau::imports {

enum class FileKind : std::uint8_t {
  unknown,
  empty,
  sglang_log,
  vllm_log,
  bench_console,
  gpu_csv,
  nvidia_smi_table,
  dmon,
  prometheus,
  bench_json,
  server_info,
  decode_grid,
  kineto,
  request_jsonl,
  nsys_csv,
  kernel_table,
  request_csv,
  request_log,
  step_trace,
  measurement,
};

const char* name_of(FileKind kind);  // as in FileReport::kind

struct Recognised {
  FileKind kind = FileKind::unknown;
  std::string seen;  // unknown: what the file looks like, for the message
};

// Reads `bytes` as far as it must: a log may hold pages of other messages before the first line
// that tells. With `columns` (names given by the user) a CSV without header is a GPU monitor's.
Recognised recognise(ByteSource& bytes, bool columns);

}  // namespace plateau::imports
