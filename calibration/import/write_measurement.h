// A measurement as one file: JSON (schema plateau-import/1) or CSV.
//
// JSON: {schema, files [{file, kind, engine, era, rows, ignored [{what, count, first_line}],
// warnings, ...}], facts {name: value}, fact_sources [{name, value, file, line, rank}], derived
// {name: {value, low, high, why}}, series {name: {columns [...], rows [[file, line, ...], ...]}}};
// a missing cell is null. Rows are written as they are read back, so a series of any length passes
// through. CSV: one table of all series, `series,file,line` first, then the union of the columns;
// facts are rows of the series "fact" with name, value and text. A missing cell is empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "calibration/import/measurement.h"

namespace plateau::imports {

using Sink = std::function<void(std::string_view)>;

void write_json(const Measurement& measurement, const Sink& sink);
void write_csv(const Measurement& measurement, const Sink& sink);

enum class Form : std::uint8_t { json, csv };
// ".json" or ".csv"; another ending is an InputError.
Form form_of(const std::string& path);

// To a temporary name beside `path`, then renamed: an interrupted run leaves no half file. A device
// such as /dev/stdout is written to. Throws InputError.
void write_measurement_file(const Measurement& measurement, const std::string& path, Form form);

}  // namespace plateau::imports
