#include "calibration/import/json_stream.h"

#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

constexpr std::size_t kDeepest = 128;
constexpr std::size_t kLongestToken = std::size_t{64} << 20;

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

// The input iterator through which the parser reads a JsonStream.
class JsonCharacters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit JsonCharacters(JsonStream* stream) : stream_(stream) {
    if (stream_ != nullptr) current_ = stream_->next_character();
  }
  char operator*() const { return static_cast<char>(current_); }
  JsonCharacters& operator++() {
    taken_ = true;
    return *this;
  }
  JsonCharacters operator++(int) {
    JsonCharacters before = *this;
    ++*this;
    return before;
  }
  bool operator==(const JsonCharacters& other) const { return ended() == other.ended(); }
  bool operator!=(const JsonCharacters& other) const { return !(*this == other); }

 private:
  // The next character is fetched when it is asked for: nothing behind a document's end is
  // consumed.
  bool ended() const {
    if (stream_ == nullptr) return true;
    if (taken_) {
      current_ = stream_->next_character();
      taken_ = false;
    }
    return current_ < 0;
  }
  JsonStream* stream_;
  mutable int current_ = -1;
  mutable bool taken_ = false;
};

// Keeps the path, and holds a value back until the next token shows that it was complete.
class JsonEvents {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  JsonEvents(JsonVisitor& visitor, std::int64_t& line, std::size_t& since_event)
      : visitor_(visitor), line_(line), since_event_(since_event) {}

  bool null() { return hold(JsonValue::Kind::null, 0); }
  bool boolean(bool value) { return hold(JsonValue::Kind::boolean, value ? 1 : 0); }
  bool number_integer(number_integer_t value) {
    return hold(JsonValue::Kind::number, static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) {
    return hold(JsonValue::Kind::number, static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    return hold(JsonValue::Kind::number, value);
  }
  bool string(string_t& value) {
    hold(JsonValue::Kind::text, 0);
    held_.text.swap(value);
    return true;
  }
  bool binary(binary_t&) { return true; }
  bool start_object(std::size_t) { return open(false); }
  bool start_array(std::size_t) { return open(true); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    release();
    path_.steps_[path_.depth_ - 1].key.swap(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    message = error.what();
    return false;
  }

  // At the end of a complete document.
  void release() {
    since_event_ = 0;
    if (!holding_) return;
    holding_ = false;
    if (path_.depth_ == 0) return;  // a document that is one bare value has no name for it
    visitor_.value(path_, held_, held_line_);
  }

  std::string message;

 private:
  void step() {
    if (path_.depth_ == 0) return;
    JsonPath::Step& last = path_.steps_[path_.depth_ - 1];
    if (last.array) ++last.index;
  }
  bool hold(JsonValue::Kind kind, double number) {
    release();
    step();
    held_.kind = kind;
    held_.number = number;
    held_.text.clear();
    held_line_ = line_;
    holding_ = true;
    return true;
  }
  bool open(bool array) {
    release();
    step();
    if (path_.depth_ >= kDeepest) {
      message = "nested deeper than 128 levels";
      return false;
    }
    visitor_.open(path_);
    if (path_.steps_.size() == path_.depth_) path_.steps_.emplace_back();
    JsonPath::Step& added = path_.steps_[path_.depth_++];
    added.array = array;
    added.index = -1;
    added.key.clear();
    added.line = line_;
    return true;
  }
  bool close() {
    release();
    const JsonPath::Step& closed = path_.steps_[--path_.depth_];
    visitor_.close(path_, closed.array, closed.line);
    return true;
  }

  JsonVisitor& visitor_;
  std::int64_t& line_;
  std::size_t& since_event_;
  JsonPath path_;
  JsonValue held_;
  std::int64_t held_line_ = 0;
  bool holding_ = false;
};

const JsonPath::Step& JsonPath::none() {
  static const Step step;
  return step;
}

std::string JsonPath::text() const {
  std::string text;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (steps_[i].array) {
      text += "[" + std::to_string(steps_[i].index) + "]";
    } else {
      text += (text.empty() ? "" : ".") + steps_[i].key;
    }
  }
  return text;
}

JsonStream::JsonStream(ByteSource& bytes, bool line_mode) : bytes_(bytes), line_mode_(line_mode) {}

bool JsonStream::looks_like_lines(std::string_view head) {
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '{') return false;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = start; i < head.size(); ++i) {
    const char c = head[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '}')) {
      depth += c == '{' ? 1 : -1;
    } else if (c == '\n') {
      // Pretty-printed text breaks after its first bracket; a cut line is followed by an object.
      return depth == 0 || head.substr(i + 1, 1) == "{";
    }
  }
  return true;
}

int JsonStream::peek() {
  if (block_.empty()) block_ = bytes_.read();
  return block_.empty() ? -1 : static_cast<unsigned char>(block_[0]);
}

int JsonStream::take() {
  const int c = peek();
  if (c < 0) return -1;
  block_.remove_prefix(1);
  if (c == '\n') ++line_;
  return c;
}

int JsonStream::next_character() {
  if (queued_ < queue_.size()) return static_cast<unsigned char>(queue_[queued_++]);
  if (line_mode_ && (ended_line_ || peek() == '\n')) {
    ended_line_ = true;
    return -1;
  }
  const int c = take();
  if (c < 0) return -1;
  if (!is_blank(c)) token_line_ = line_;
  if (++since_event_ > kLongestToken) {
    throw InputError(Problem{bytes_.name(), static_cast<int>(line_), 0, "",
                             "one value is longer than 64 MiB", ""});
  }
  const bool plain = in_string_ ? c != '"' && c != '\\' && c < 0x80
                                : c != '"' && c != 'I' && c != 'N' && c != '-' && c < 0x80;
  if (plain) return c;
  queue_.clear();
  queued_ = 0;
  translate(c);
  return static_cast<unsigned char>(queue_[queued_++]);
}

void JsonStream::translate(int c) {
  if (c >= 0x80) {
    queue_ = "?";
  } else if (c == '"') {
    in_string_ = !in_string_;
    queue_ = "\"";
  } else if (in_string_) {  // an escape; \uXXXX may be half a pair
    queue_ = "\\";
    const int escaped = peek();
    if (escaped < 0 || escaped == '\n') return;
    take();
    if (escaped != 'u') {
      queue_ += escaped >= 0x80 ? '?' : static_cast<char>(escaped);
      return;
    }
    int digits = 0;
    while (digits < 4 && peek() >= 0 && std::isxdigit(peek()) != 0) {
      take();
      ++digits;
    }
    queue_ = digits == 4 ? "?" : "\\u";
  } else {
    std::string word(1, static_cast<char>(c));
    while (word.size() < 10 && peek() >= 0 && peek() < 0x80 && std::isalpha(peek()) != 0) {
      word += static_cast<char>(take());
    }
    queue_ = word == "NaN"                               ? "null"
             : word == "Infinity" || word == "-Infinity" ? '"' + word + '"'
                                                         : word;
  }
}

bool JsonStream::skip_blanks() {
  while (is_blank(peek())) take();
  return peek() >= 0;
}

void JsonStream::skip_line() {
  while (peek() >= 0 && take() != '\n') {
  }
}

JsonEnd JsonStream::next(JsonVisitor& visitor) {
  queue_.clear();
  queued_ = 0;
  in_string_ = ended_line_ = false;
  since_event_ = 0;
  if (!skip_blanks()) return JsonEnd::none;
  start_line_ = token_line_ = line_;
  JsonEvents events(visitor, token_line_, since_event_);
  const bool good = nlohmann::json::sax_parse(JsonCharacters(this), JsonCharacters(nullptr),
                                              &events, nlohmann::json::input_format_t::json, false);
  if (good) {
    events.release();
    if (line_mode_ && peek() != '\n' && peek() >= 0) {
      const bool blank_rest = [&] {
        while (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == ',') take();
        return peek() == '\n' || peek() < 0;
      }();
      if (!blank_rest) skip_line();
    }
    return JsonEnd::complete;
  }
  error_ = events.message;
  const bool at_end = peek() < 0;
  if (line_mode_ && !at_end) {
    skip_line();
    return JsonEnd::cut;
  }
  return at_end ? JsonEnd::cut : JsonEnd::broken;
}

}  // namespace plateau::imports
