#include "calibration/import/line_source.h"

#include <cstring>

namespace plateau::imports {

bool LineSource::next(Line& line) {
  std::string_view text;
  bool terminated = false;
  if (!assemble(text, terminated)) return false;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.find('\x1b') != std::string_view::npos) without_colours(text);
  line = {text, ++number_, terminated};
  if (text.size() > kLongestLine) {
    line.text = text.substr(0, kLongestLine);
    line.terminated = false;
  }
  return true;
}

bool LineSource::assemble(std::string_view& text, bool& terminated) {
  carried_.clear();
  bool any = false;
  for (;;) {
    if (block_.empty()) block_ = bytes_.read();
    if (block_.empty()) {
      text = carried_;
      return any;
    }
    any = true;
    const void* found = std::memchr(block_.data(), '\n', block_.size());
    const std::size_t length =
        found == nullptr
            ? block_.size()
            : static_cast<std::size_t>(static_cast<const char*>(found) - block_.data());
    const std::string_view piece = block_.substr(0, length);
    terminated = found != nullptr;
    block_.remove_prefix(length + (terminated ? 1 : 0));
    if (terminated && carried_.empty()) {
      text = piece;
      return true;
    }
    if (carried_.size() <= kLongestLine) carried_ += piece;
    if (terminated) {
      text = carried_;
      return true;
    }
  }
}

// ESC [ parameters letter: the sequences that loggers write.
void LineSource::without_colours(std::string_view& text) {
  clean_.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      clean_ += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    }
  }
  text = clean_;
}

}  // namespace plateau::imports
