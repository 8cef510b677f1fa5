// JSON documents read value by value from a file of any size, with the line of each value.
//
// nlohmann's SAX parser over the blocks of a ByteSource: memory holds one token. A number counts
// only when something follows it, so that the last token of a cut file is no value. Python's
// Infinity and -Infinity arrive as text, NaN as null. Bytes beyond ASCII become '?': no name we
// read needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/byte_source.h"

namespace plateau::imports {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, text };
  Kind kind = Kind::null;
  double number = 0;  // boolean: 0 or 1
  std::string text;
  bool is_number() const { return kind == Kind::number; }
  bool is_text() const { return kind == Kind::text; }
};

// Where a value stands: keys of objects and indices of arrays from the root down.
class JsonPath {
 public:
  struct Step {
    bool array = false;
    std::int64_t index = -1;
    std::string key;
    std::int64_t line = 0;  // where the container opened
  };
  std::size_t depth() const { return depth_; }
  // Deeper than the path: a step without a name.
  const Step& operator[](std::size_t i) const { return i < depth_ ? steps_[i] : none(); }
  const Step& last() const { return depth_ > 0 ? steps_[depth_ - 1] : none(); }
  std::string text() const;  // "results[3].concurrency"

 private:
  friend class JsonEvents;
  static const Step& none();
  std::vector<Step> steps_;  // more than depth_: their strings are reused
  std::size_t depth_ = 0;
};

class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;
  // `path.last()` names the value within its container.
  virtual void value(const JsonPath& path, const JsonValue& value, std::int64_t line) = 0;
  // A container begins at `path` (empty: the document itself).
  virtual void open(const JsonPath& path) { (void)path; }
  // A container ended; `path` is the path to it.
  virtual void close(const JsonPath& path, bool array, std::int64_t opened_line) {
    (void)path, (void)array, (void)opened_line;
  }
};

enum class JsonEnd : std::uint8_t { complete, cut, broken, none };

// Documents one after the other. In line mode (JSON Lines) every line is one: a broken line does
// not spoil the next.
class JsonStream {
 public:
  JsonStream(ByteSource& bytes, bool line_mode);
  // Reads the next document; `none` when there is none.
  JsonEnd next(JsonVisitor& visitor);
  std::int64_t start_line() const { return start_line_; }  // of the last document
  std::int64_t line() const { return line_; }
  const std::string& error() const { return error_; }

  // Whether the text is one object a line.
  static bool looks_like_lines(std::string_view head);

 private:
  friend class JsonCharacters;
  int peek();
  int take();            // next character of the text, -1 at the end
  int next_character();  // what the parser sees, -1 at the end of the document
  void translate(int c);
  bool skip_blanks();
  void skip_line();

  ByteSource& bytes_;
  bool line_mode_;
  std::string_view block_;
  std::string queue_;  // translated characters the parser has not seen
  std::size_t queued_ = 0;
  bool in_string_ = false;
  bool ended_line_ = false;
  std::int64_t line_ = 1;
  std::int64_t token_line_ = 1;  // of the last character that is no blank
  std::int64_t start_line_ = 1;
  std::size_t since_event_ = 0;
  std::string error_;
};

}  // namespace plateau::imports
