// `plateau import`: recognises logs, traces and result files and reads them into one Measurement.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/byte_source.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

struct ImportOptions {
  std::vector<std::string> files;  // files, or folders of kernel tables
  // For GPU monitor CSV without a header: names with units, "index", "power.draw [W]".
  std::vector<std::string> columns;
};

// Throws InputError; every file that cannot be imported is named, all together.
Measurement import_files(const ImportOptions& options);

// One source into a measurement; the tests and the fuzzer come in here.
using OpenBytes = std::function<ByteSource()>;  // called twice: to recognise, to read
void import_source(const OpenBytes& open, const std::vector<std::string>& columns,
                   Measurement& measurement);

// What the command prints: per file what was recognised, taken, ignored and why.
std::string describe(const Measurement& measurement);

// "2026-11-30 10:00:00", as the clock tells it; "12.500 s" of the run.
std::string time_text(Clock clock, double seconds);
std::string span_text(const FileReport& report);  // "" when the file tells no time
std::string last_date(const FileReport& report);  // "2026-11-30"; "" when no date is told

}  // namespace plateau::imports
