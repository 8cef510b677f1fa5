// One function per file format: reads a recognised file into a Recorder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/byte_source.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

// Text, line by line.
void import_sglang_log(ByteSource& bytes, Recorder& recorder);
void import_vllm_log(ByteSource& bytes, Recorder& recorder);
void import_bench_console(ByteSource& bytes, Recorder& recorder);

// GPU monitors. `columns`: names with units for files without a header ("index", "power.draw [W]").
void import_gpu_csv(ByteSource& bytes, Recorder& recorder, const std::vector<std::string>& columns);
void import_nvidia_smi_table(ByteSource& bytes, Recorder& recorder);
void import_dmon(ByteSource& bytes, Recorder& recorder);
void import_prometheus(ByteSource& bytes, Recorder& recorder);

// JSON.
void import_bench_json(ByteSource& bytes, Recorder& recorder);
void import_server_info(ByteSource& bytes, Recorder& recorder);
void import_decode_grid(ByteSource& bytes, Recorder& recorder);
void import_kineto(ByteSource& bytes, Recorder& recorder);
void import_request_jsonl(ByteSource& bytes, Recorder& recorder);

// Tables.
void import_nsys_csv(ByteSource& bytes, Recorder& recorder);
void import_kernel_table(ByteSource& bytes, Recorder& recorder);
void import_request_csv(ByteSource& bytes, Recorder& recorder);
void import_request_log(ByteSource& bytes, Recorder& recorder);
void import_step_trace(ByteSource& bytes, Recorder& recorder);

// What `plateau import` wrote as JSON.
void import_measurement(ByteSource& bytes, Recorder& recorder);

}  // namespace plateau::imports
