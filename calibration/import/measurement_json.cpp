// The JSON that write_measurement.h writes, read back: the same files, facts and rows, with the
// places they came from, as if the logs had been read again.
#include <array>
#include <utility>

#include "calibration/import/formats.h"
#include "calibration/import/json_stream.h"
#include "calibration/whole.h"

namespace plateau::imports {
namespace {

Clock clock_of(std::string_view column) {
  for (const Clock clock : {Clock::epoch, Clock::local, Clock::no_year, Clock::run}) {
    if (column == column_of(clock)) return clock;
  }
  return Clock::none;
}

class Reader : public JsonVisitor {
 public:
  explicit Reader(Recorder& recorder) : recorder_(recorder) {}

  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    line_ = line;
    const std::size_t depth = path.depth();
    const std::string& part = path[0].key;
    if (part == "schema" && value.text != "plateau-import/1") {
      recorder_.fail(line, "has the schema '" + value.text + "'",
                     "this version reads plateau-import/1; import the logs again");
    }
    if (part == "files" && depth == 3) file_value(path[2].key, value);
    if (part == "files" && depth == 4 && path[2].key == "warnings") {
      file_.warnings.push_back(value.text);
    }
    if (part == "files" && depth == 5 && path[2].key == "ignored") ignored(path[4].key, value);
    if (part == "fact_sources" && depth == 3) fact_value(path[2].key, value);
    if (part == "derived" && depth == 3) derived_value(path[2].key, value);
    if (part == "series" && depth >= 4) series_value(path, value);
  }

  void close(const JsonPath& path, bool array, std::int64_t) override {
    const std::size_t depth = path.depth();
    if (depth == 0) return;
    const std::string& part = path[0].key;
    if (part == "files") return close_file(depth);
    Measurement& measurement = recorder_.measurement();
    if (depth == 2 && part == "fact_sources") measurement.facts.push_back(std::exchange(fact_, {}));
    if (depth == 2 && part == "derived") measurement.derived.push_back(std::exchange(derived_, {}));
    if (part == "series" && array && depth == 4 && path[2].key == "rows")
      return close_row(path[1].key);
    if (part == "series" && depth == 2) columns_.clear();
  }

  // The files that were imported take the place of the one that holds them.
  void finish() {
    if (files_.empty()) recorder_.fail(line_, "names no imported file", "import the logs again");
    std::vector<FileReport>& files = recorder_.measurement().files;
    files.pop_back();
    for (FileReport& file : files_) files.push_back(std::move(file));
  }

 private:
  void file_value(const std::string& key, const JsonValue& value) {
    if (key == "file") file_.file = value.text;
    if (key == "kind") file_.kind = value.text;
    if (key == "engine") file_.engine = value.text;
    if (key == "era") file_.era = value.text;
    if (key == "rows") file_.rows = whole(value.number);
    if (key == "gpus") file_.gpus = whole<int>(value.number);
    if (key == "clock") file_.clock = clock_of(value.text);
    if (key == "first_s" && value.is_number()) file_.first_s = value.number;
    if (key == "last_s" && value.is_number()) file_.last_s = value.number;
  }

  void ignored(const std::string& key, const JsonValue& value) {
    if (key == "what") ignored_.what = value.text;
    if (key == "count") ignored_.count = whole(value.number);
    if (key == "first_line") ignored_.first_line = line_of(value);
  }

  void close_file(std::size_t depth) {
    if (depth == 4) {
      file_.ignored.push_back(std::exchange(ignored_, {}));
    } else if (depth == 2) {
      files_.push_back(std::exchange(file_, {}));
    }
  }

  void fact_value(const std::string& key, const JsonValue& value) {
    if (key == "name") fact_.name = value.text;
    if (key == "rank") fact_.rank = value.text;
    if (key == "preferred") fact_.preferred = value.number != 0;
    if (key == "line") fact_.line = line_of(value);
    if (key == "file") fact_.file = source(value);
    if (key != "value") return;
    if (value.is_number()) fact_.number = value.number;
    fact_.text = value.text;
  }

  void derived_value(const std::string& key, const JsonValue& value) {
    if (key == "name") derived_.name = value.text;
    if (key == "why") derived_.why = value.text;
    if (key == "file") derived_.file = source(value);
    if (!value.is_number()) return;
    if (key == "value") derived_.value = value.number;
    if (key == "low") derived_.low = value.number;
    if (key == "high") derived_.high = value.number;
  }

  // series.NAME.{columns[i], words[i], rows[i][j]}; the first two columns are file and line.
  void series_value(const JsonPath& path, const JsonValue& value) {
    const std::string& key = path[2].key;
    if (key == "columns" && path.depth() == 4) columns_.push_back({value.text, false});
    if (key == "words" && path.depth() == 4) {
      for (Column& column : columns_) column.text = column.text || column.name == value.text;
    }
    if (key == "rows" && path.depth() == 5) row_.push_back(value);
  }

  void close_row(const std::string& name) {
    if (row_.size() != columns_.size() || row_.size() < 2) {
      recorder_.fail(line_,
                     "a row of '" + name + "' has " + std::to_string(row_.size()) +
                         " cells, its columns are " + std::to_string(columns_.size()),
                     "import the logs again");
    }
    Series& series = recorder_.series(name);
    std::vector<std::size_t> at;
    for (std::size_t i = 2; i < columns_.size(); ++i)
      at.push_back(series.column(columns_[i].name, columns_[i].text));
    series.begin_row(source(row_[0]), line_of(row_[1]));
    for (std::size_t i = 2; i < row_.size(); ++i) {
      if (row_[i].is_number() && !columns_[i].text) series.set(at[i - 2], row_[i].number);
      if (row_[i].is_text() && columns_[i].text) series.set_word(at[i - 2], row_[i].text);
    }
    series.end_row();
    row_.clear();
  }

  // A line of a file is a whole number that a double holds.
  std::int64_t line_of(const JsonValue& value) const {
    constexpr double kMost = 9007199254740992.0;
    if (!value.is_number() || !(value.number >= 0) || value.number > kMost)
      recorder_.fail(line_, "a record's line is no line number", "import the logs again");
    return whole(value.number);
  }

  int source(const JsonValue& index) const {
    if (!index.is_number() || index.number < 0 ||
        index.number >= static_cast<double>(files_.size())) {
      recorder_.fail(line_, "a record names no file of the list 'files'", "import the logs again");
    }
    return recorder_.file() + whole<int>(index.number);
  }

  Recorder& recorder_;
  std::int64_t line_ = 0;
  std::vector<FileReport> files_;
  FileReport file_;
  Ignored ignored_;
  Fact fact_;
  Derived derived_;
  std::vector<Column> columns_;
  std::vector<JsonValue> row_;
};

}  // namespace

void import_measurement(ByteSource& bytes, Recorder& recorder) {
  JsonStream stream(bytes, false);
  Reader reader(recorder);
  const JsonEnd end = stream.next(reader);
  if (end != JsonEnd::complete) {
    recorder.fail(stream.line(),
                  end == JsonEnd::cut ? "the file ends inside the document"
                                      : "is not JSON: " + stream.error(),
                  "import the logs again: a part of a measurement would look like a whole one");
  }
  reader.finish();
}

}  // namespace plateau::imports
