// parse_json over nlohmann's SAX interface. SAX events carry no position, so the parser reads
// through an iterator that remembers where the first character of the token being read stood.
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/config_tree.h"

namespace plateau {

namespace {

struct Cursor {
  std::string_view text;
  std::size_t position = 0;     // of the next character
  std::size_t token_start = 0;  // first character since the last event that can begin a token
  bool in_token = false;

  void advance() {
    static constexpr std::string_view kBetween = " \t\r\n:,";
    if (!in_token && kBetween.find(text[position]) == std::string_view::npos) {
      in_token = true;
      token_start = position;
    }
    ++position;
  }
};

class TrackedCharacter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit TrackedCharacter(Cursor* cursor) : cursor_(cursor) {}  // nullptr: the end
  reference operator*() const { return cursor_->text[cursor_->position]; }
  TrackedCharacter& operator++() {
    cursor_->advance();
    return *this;
  }
  TrackedCharacter operator++(int) {
    cursor_->advance();
    return *this;
  }
  bool operator==(const TrackedCharacter& other) const { return at_end() == other.at_end(); }
  bool operator!=(const TrackedCharacter& other) const { return !(*this == other); }

 private:
  bool at_end() const { return cursor_ == nullptr || cursor_->position >= cursor_->text.size(); }
  Cursor* cursor_;
};

// Lines and columns of increasing offsets, without starting over at each.
class PlaceScanner {
 public:
  explicit PlaceScanner(std::string_view text) : text_(text) {}
  TextPlace at(std::size_t offset) {
    for (; next_ < offset && next_ < text_.size(); ++next_) {
      if (text_[next_] == '\n') {
        ++place_.line;
        line_start_ = next_ + 1;
      }
    }
    place_.column = static_cast<int>(offset - line_start_) + 1;
    return place_;
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
  std::size_t line_start_ = 0;
  TextPlace place_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 7: syntax error while ..."
// without its prefix: the place is told by the problem. What was read last may be as long as the
// file.
std::string sentence_of(std::string text) {
  constexpr std::size_t kLongest = 160;
  if (const std::size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  if (text.rfind("parse error at line", 0) == 0) text.erase(0, text.find(": ") + 2);
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

class TreeEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeEvents(const std::string& file, Cursor* cursor)
      : tree_(file), cursor_(cursor), places_(cursor->text) {}

  bool null() override {
    tree_.null(next_place());
    return true;
  }
  bool boolean(bool) override { return plain(); }
  bool number_integer(number_integer_t) override { return plain(); }
  bool number_unsigned(number_unsigned_t) override { return plain(); }
  bool number_float(number_float_t, const string_t&) override { return plain(); }
  bool string(string_t& value) override {
    tree_.scalar(std::move(value), true, next_place());
    return true;
  }
  bool binary(binary_t&) override { return false; }  // never sent for JSON text
  bool start_object(std::size_t) override { return open(ConfigNode::Kind::map); }
  bool start_array(std::size_t) override { return open(ConfigNode::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    tree_.key(std::move(name), next_place());
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::size_t last = position > 0 ? position - 1 : 0;
    tree_.refuse(place_of(cursor_->text, cursor_->in_token ? cursor_->token_start : last),
                 "JSON syntax: " + sentence_of(error.what()));
  }

  ConfigNode finish() { return tree_.finish(); }

 private:
  TextPlace next_place() {
    cursor_->in_token = false;
    return places_.at(cursor_->token_start);
  }

  // A word or number as it stands in the text: 1.0 and 1e3 stay what the user wrote.
  bool plain() {
    const std::size_t start = cursor_->token_start;
    const std::size_t end = cursor_->text.find_first_of(" \t\r\n:,]}", start);
    tree_.scalar(std::string(cursor_->text.substr(start, end - start)), false, next_place());
    return true;
  }

  bool open(ConfigNode::Kind kind) {
    tree_.open(kind, next_place());
    return true;
  }

  bool close() {
    cursor_->in_token = false;
    tree_.close();
    return true;
  }

  ConfigTreeBuilder tree_;
  Cursor* cursor_;
  PlaceScanner places_;
};

}  // namespace

ConfigNode parse_json(std::string_view text, const std::string& file) {
  Cursor cursor;
  cursor.text = require_utf8_text(text, file);
  TreeEvents events(file, &cursor);
  nlohmann::json::sax_parse(TrackedCharacter(&cursor), TrackedCharacter(nullptr), &events);
  return events.finish();
}

}  // namespace plateau
