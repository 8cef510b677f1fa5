#include "calibration/import/write_measurement.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

using Json = nlohmann::ordered_json;

// Names in a log may hold bytes that are no UTF-8: they are replaced.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

Json number_of(double value) {
  // Counts are written as whole numbers.
  constexpr double kExact = 9007199254740992.0;
  if (value == std::floor(value) && std::abs(value) < kExact)
    return static_cast<std::int64_t>(value);
  return value;
}

Json optional_of(const std::optional<double>& value) {
  return value ? number_of(*value) : Json(nullptr);
}

Json value_of(const Fact& fact) { return fact.number ? number_of(*fact.number) : Json(fact.text); }

Json file_of(const FileReport& report) {
  Json ignored = Json::array();
  for (const Ignored& entry : report.ignored) {
    ignored.push_back(
        {{"what", entry.what}, {"count", entry.count}, {"first_line", entry.first_line}});
  }
  Json file = {{"file", report.file},
               {"kind", report.kind},
               {"engine", report.engine.empty() ? Json(nullptr) : Json(report.engine)},
               {"era", report.era},
               {"rows", report.rows},
               {"ignored", std::move(ignored)},
               {"warnings", report.warnings}};
  if (report.gpus > 0) file["gpus"] = report.gpus;
  if (report.first_s) {
    file["clock"] = column_of(report.clock);
    file["first_s"] = optional_of(report.first_s);
    file["last_s"] = optional_of(report.last_s);
  }
  return file;
}

// Everything but the rows of the series.
Json skeleton(const Measurement& measurement) {
  Json files = Json::array();
  for (const FileReport& report : measurement.files) files.push_back(file_of(report));
  Json facts = Json::object();
  Json sources = Json::array();
  for (const Fact& fact : measurement.facts) {
    facts[fact.name] = value_of(*measurement.fact(fact.name));
    Json source = {
        {"name", fact.name}, {"value", value_of(fact)}, {"file", fact.file}, {"line", fact.line}};
    if (!fact.rank.empty()) source["rank"] = fact.rank;
    if (fact.preferred) source["preferred"] = true;
    sources.push_back(std::move(source));
  }
  Json derived = Json::array();
  for (const Derived& value : measurement.derived) {
    derived.push_back({{"name", value.name},
                       {"file", value.file},
                       {"value", optional_of(value.value)},
                       {"low", optional_of(value.low)},
                       {"high", optional_of(value.high)},
                       {"why", value.why}});
  }
  return {{"schema", "plateau-import/1"},
          {"files", std::move(files)},
          {"facts", std::move(facts)},
          {"fact_sources", std::move(sources)},
          {"derived", std::move(derived)}};
}

class Buffer {
 public:
  explicit Buffer(const Sink& sink) : sink_(sink) {}
  ~Buffer() = default;
  Buffer& operator<<(std::string_view text) {
    text_ += text;
    if (text_.size() >= kFlushBytes) flush();
    return *this;
  }
  std::string& text() { return text_; }
  void flush() {
    sink_(text_);
    text_.clear();
  }

 private:
  const Sink& sink_;
  std::string text_;
};

void append_number(std::string& text, double value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, error == std::errc() ? end : digits);
}

Json row_of(const Series& series, const Series::Row& row) {
  Json cells = Json::array();
  cells.get_ref<Json::array_t&>().reserve(series.columns().size() + 2);
  cells.push_back(row.file);
  cells.push_back(row.line);
  for (std::size_t i = 0; i < series.columns().size(); ++i) {
    const std::optional<double> cell = row.number(i);
    if (!cell) {
      cells.push_back(nullptr);
    } else if (series.columns()[i].text) {
      cells.push_back(series.word(*cell));
    } else {
      cells.push_back(number_of(*cell));
    }
  }
  return cells;
}

// A series whose rows are dumped one by one where its empty "rows" stands.
void write_series(const Series& series, Buffer& out) {
  Json columns = {"file", "line"};
  Json words = Json::array();
  for (const Column& column : series.columns()) {
    columns.push_back(column.name);
    if (column.text) words.push_back(column.name);
  }
  const std::string frame =
      dumped(Json{{"columns", columns}, {"words", words}, {"rows", Json::array()}});
  constexpr std::size_t kClosing = 2;  // "]}"
  out << std::string_view(frame).substr(0, frame.size() - kClosing);
  bool first = true;
  series.for_each([&](const Series::Row& row) {
    out << (first ? "\n" : ",\n") << dumped(row_of(series, row));
    first = false;
  });
  out << std::string_view(frame).substr(frame.size() - kClosing);
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r#") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result + '"';
}

// The union of all columns, in the order of the series.
struct CsvLayout {
  std::vector<std::string> names;
  std::size_t of(const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  }
};

std::string file_name(const Measurement& measurement, int file) {
  return measurement.files[static_cast<std::size_t>(file)].file;
}

void write_csv_facts(const Measurement& measurement, std::size_t columns, Buffer& out) {
  for (const Fact& fact : measurement.facts) {
    out << "fact," << csv_cell(file_name(measurement, fact.file)) << ","
        << std::to_string(fact.line) << "," << csv_cell(fact.name) << ",";
    if (fact.number) append_number(out.text(), *fact.number);
    out << "," << csv_cell(fact.text) << std::string(columns, ',') << "\n";
  }
}

void write_csv_series(const Measurement& measurement, const Series& series, CsvLayout& layout,
                      Buffer& out) {
  std::vector<std::optional<std::size_t>> from(layout.names.size());
  for (std::size_t i = 0; i < series.columns().size(); ++i)
    from[layout.of(series.columns()[i].name)] = i;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < measurement.files.size(); ++i) {
    files.push_back(csv_cell(measurement.files[i].file));
  }
  series.for_each([&](const Series::Row& row) {
    out << series.name() << "," << files[static_cast<std::size_t>(row.file)] << ",";
    append_number(out.text(), static_cast<double>(row.line));
    out << ",,,";
    for (const std::optional<std::size_t>& column : from) {
      out << ",";
      if (!column) continue;
      const std::optional<double> cell = row.number(*column);
      if (!cell) continue;
      if (series.columns()[*column].text) {
        out << csv_cell(series.word(*cell));
      } else {
        append_number(out.text(), *cell);
      }
    }
    out << "\n";
  });
}

}  // namespace

void write_json(const Measurement& measurement, const Sink& sink) {
  Buffer out(sink);
  Json document = skeleton(measurement);
  document["series"] = Json::object();
  const std::string frame = dumped(document);
  constexpr std::size_t kClosing = 2;  // "}}" of the series and the document
  out << std::string_view(frame).substr(0, frame.size() - kClosing);
  bool first = true;
  for (const auto& [name, series] : measurement.series) {
    if (series.rows() == 0) continue;
    out << (first ? "\n" : ",\n") << dumped(Json(name)) << ":";
    write_series(series, out);
    first = false;
  }
  out << std::string_view(frame).substr(frame.size() - kClosing) << "\n";
  out.flush();
}

void write_csv(const Measurement& measurement, const Sink& sink) {
  Buffer out(sink);
  CsvLayout layout;
  for (const auto& [name, series] : measurement.series) {
    if (series.rows() == 0) continue;
    for (const Column& column : series.columns()) layout.of(column.name);
  }
  out << "# plateau-import/1\n";
  for (const FileReport& report : measurement.files) {
    out << "# " << report.file << ": " << report.kind << ", " << report.era << ", "
        << std::to_string(report.rows) << " records\n";
  }
  out << "series,file,line,name,value,text";
  for (const std::string& name : layout.names) out << "," << name;
  out << "\n";
  write_csv_facts(measurement, layout.names.size(), out);
  for (const auto& [name, series] : measurement.series) {
    if (series.rows() > 0) write_csv_series(measurement, series, layout, out);
  }
  out.flush();
}

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  throw InputError(Problem{path, 0, 0, "", "cannot be written: " + why, ""});
}

void write_stream(const Measurement& measurement, const std::string& path, Form form) {
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "wb"));
  if (!file) cannot_write(path, std::strerror(errno));
  bool good = true;
  const Sink sink = [&](std::string_view text) {
    good = good && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  };
  form == Form::json ? write_json(measurement, sink) : write_csv(measurement, sink);
  good = std::fclose(file.release()) == 0 && good;
  if (!good) cannot_write(path, std::strerror(errno));
}

}  // namespace

Form form_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".json") return Form::json;
  if (ending == ".csv") return Form::csv;
  throw InputError(Problem{path, 0, 0, "", "ends neither in .csv nor in .json",
                           "the ending of the measurement file says which form it has"});
}

void write_measurement_file(const Measurement& measurement, const std::string& path, Form form) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return write_stream(measurement, path, form);
  const std::string written = path + "." + std::to_string(getpid()) + ".tmp";
  try {
    write_stream(measurement, written, form);
  } catch (...) {
    std::remove(written.c_str());
    throw;
  }
  fs::rename(written, path, error);
  if (!error) return;
  std::remove(written.c_str());
  cannot_write(path, error.message());
}

}  // namespace plateau::imports
