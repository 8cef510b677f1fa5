#include "calibration/config_tree.h"

#include <algorithm>

namespace plateau {

namespace {

std::size_t size_of(const ConfigNode& node) {
  std::size_t size = 1;
  for (const ConfigNode& child : node.children) size += size_of(child);
  return size;
}

// Length of the UTF-8 sequence at the start of `text`, 0 when there is none. Overlong forms,
// surrogates and code points beyond U+10FFFF are none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
  if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
}

std::string what_it_looks_like(std::string_view text) {
  const auto starts = [&](std::string_view mark) { return text.substr(0, mark.size()) == mark; };
  using namespace std::string_view_literals;
  if (starts("\xFF\xFE\0\0"sv) || starts("\0\0\xFE\xFF"sv)) return "is UTF-32 text";
  if (starts("\xFF\xFE"sv) || starts("\xFE\xFF"sv)) return "is UTF-16 text";
  if (starts("\x1F\x8B"sv)) return "is gzip data";
  if (starts("PK\x03\x04"sv)) return "is a zip archive";
  const std::string_view head = text.substr(0, 256);
  const auto zeros = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\0'));
  if (text.size() >= 4 && zeros * 3 >= head.size()) return "looks like UTF-16 text";
  if (zeros > 0) return "is a binary file";
  return "";
}

}  // namespace

TextPlace place_of(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  TextPlace place;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++place.line;
    line_start = i + 1;
  }
  place.column = static_cast<int>(offset - line_start) + 1;
  return place;
}

std::string_view require_utf8_text(std::string_view text, const std::string& file) {
  const std::string kind = what_it_looks_like(text);
  if (!kind.empty()) {
    throw InputError(
        Problem{file, 0, 0, "", "this " + kind + ", not UTF-8 text", "save it as plain UTF-8"});
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = is_control(text[i]) ? 0 : utf8_length(text.substr(i));
    if (length == 0) {
      const TextPlace place = place_of(text, i);
      throw InputError(Problem{
          file, place.line, place.column, "",
          is_control(text[i]) ? "a control character stands here" : "this byte is not UTF-8 text",
          "save the file as plain UTF-8"});
    }
    i += length;
  }
  return text;
}

bool ConfigTreeBuilder::expects_key() const {
  return !open_.empty() && open_.back().node.kind == ConfigNode::Kind::map && !open_.back().has_key;
}

std::string ConfigTreeBuilder::path() const {
  std::string result;
  for (const Open& open : open_) {
    if (open.node.kind == ConfigNode::Kind::list) {
      result += "[" + std::to_string(open.node.children.size()) + "]";
    } else if (open.has_key) {
      result += (result.empty() ? "" : ".") + open.key;
    }
  }
  return result;
}

void ConfigTreeBuilder::complain(TextPlace place, std::string message, std::string hint) {
  problems_.push_back(
      Problem{file_, place.line, place.column, path(), std::move(message), std::move(hint)});
}

void ConfigTreeBuilder::refuse(TextPlace place, std::string message, std::string hint) {
  complain(place, std::move(message), std::move(hint));
  throw InputError(std::move(problems_));
}

void ConfigTreeBuilder::key(std::string name, TextPlace place) {
  Open& open = open_.back();
  const auto [first, is_new] = open.seen.emplace(name, place);
  open.key = std::move(name);
  open.key_place = place;
  open.has_key = true;
  if (!is_new) {
    complain(place,
             "this key is given twice, first at line " + std::to_string(first->second.line) +
                 ", column " + std::to_string(first->second.column),
             "remove one of the two");
  }
}

ConfigNode ConfigTreeBuilder::node(ConfigNode::Kind kind, TextPlace place) const {
  ConfigNode result;
  result.kind = kind;
  result.file = file_;
  result.line = place.line;
  result.column = place.column;
  return result;
}

void ConfigTreeBuilder::count(std::size_t nodes, TextPlace place) {
  nodes_ += nodes;
  if (nodes_ > kMaxConfigNodes) {
    refuse(place, "the document holds more than " + std::to_string(kMaxConfigNodes) + " values");
  }
}

void ConfigTreeBuilder::null(TextPlace place, Anchor anchor) {
  count(1, place);
  add(node(ConfigNode::Kind::null, place), anchor);
}

void ConfigTreeBuilder::scalar(std::string text, bool quoted, TextPlace place, Anchor anchor) {
  count(1, place);
  ConfigNode result = node(ConfigNode::Kind::scalar, place);
  result.text = std::move(text);
  result.quoted = quoted;
  add(std::move(result), anchor);
}

void ConfigTreeBuilder::open(ConfigNode::Kind kind, TextPlace place, Anchor anchor) {
  count(1, place);
  if (open_.size() >= kMaxConfigDepth) {
    refuse(place, "nested deeper than " + std::to_string(kMaxConfigDepth) + " levels");
  }
  Open result;
  result.node = node(kind, place);
  result.anchor = anchor;
  open_.push_back(std::move(result));
}

void ConfigTreeBuilder::close() {
  Open done = std::move(open_.back());
  open_.pop_back();
  add(std::move(done.node), done.anchor);
}

void ConfigTreeBuilder::alias(Anchor anchor, TextPlace place) {
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end()) refuse(place, "this alias stands inside the value it names");
  count(size_of(found->second), place);
  add(found->second, 0);
}

void ConfigTreeBuilder::add(ConfigNode node, Anchor anchor) {
  if (anchor != 0) anchored_[anchor] = node;
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.kind == ConfigNode::Kind::map) {
    parent.node.keys.push_back(std::move(parent.key));
    parent.has_key = false;
    node.key_line = parent.key_place.line;
    node.key_column = parent.key_place.column;
  }
  parent.node.children.push_back(std::move(node));
}

ConfigNode ConfigTreeBuilder::finish() {
  if (!problems_.empty()) throw InputError(std::move(problems_));
  return std::move(root_);
}

}  // namespace plateau
