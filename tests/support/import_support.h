// Reads what an importer took: rows as maps from column to value, facts by name.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "calibration/import/import.h"
#include "calibration/input_error.h"

namespace plateau::imports {

inline Measurement import_text(const std::string& text, const std::string& name = "t.log",
                               const std::vector<std::string>& columns = {}) {
  Measurement measurement;
  import_source([&] { return ByteSource::memory(text, name); }, columns, measurement);
  return measurement;
}

struct RowValues {
  std::int64_t line = 0;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> words;

  // Fails the test by throwing when the cell is missing.
  double at(const std::string& column) const { return numbers.at(column); }
  bool has(const std::string& column) const {
    return numbers.count(column) > 0 || words.count(column) > 0;
  }
};

inline std::vector<RowValues> rows_of(const Measurement& measurement, const std::string& name) {
  std::vector<RowValues> rows;
  const Series* series = measurement.find(name);
  if (series == nullptr) return rows;
  series->for_each([&](const Series::Row& row) {
    RowValues values;
    values.line = row.line;
    for (std::size_t i = 0; i < series->columns().size(); ++i) {
      const auto cell = row.number(i);
      if (!cell) continue;
      const Column& column = series->columns()[i];
      if (column.text) {
        values.words[column.name] = series->word(*cell);
      } else {
        values.numbers[column.name] = *cell;
      }
    }
    rows.push_back(values);
  });
  return rows;
}

inline std::optional<double> fact_of(const Measurement& measurement, const std::string& name) {
  const Fact* fact = measurement.fact(name);
  return fact == nullptr ? std::nullopt : fact->number;
}

inline std::string fact_text_of(const Measurement& measurement, const std::string& name) {
  const Fact* fact = measurement.fact(name);
  return fact == nullptr ? "" : fact->text;
}

inline bool warned(const Measurement& measurement, const std::string& part) {
  for (const FileReport& report : measurement.files) {
    for (const std::string& warning : report.warnings) {
      if (warning.find(part) != std::string::npos) return true;
    }
  }
  return false;
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The samples that ship with the tests.
inline std::string own_sample(const std::string& name) {
  return std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import/" + name;
}
inline Measurement import_own(const std::string& name) {
  ImportOptions options;
  options.files = {own_sample(name)};
  return import_files(options);
}

// The folder of third-party samples and data, "" where it is not at hand.
inline std::string shared_folder() {
  for (const char* up : {"/../shared", "/../../shared"}) {
    const std::string folder = std::string(PLATEAU_SOURCE_DIR) + up;
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return "";
}

// Every problem's text of the InputError that `action` throws; "" when it throws none.
template <typename Action>
std::string input_error_of(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace plateau::imports
