// Lines of a text, one at a time, with their numbers.
//
// A line says whether its newline was there: at the end of a file that was cut, the last token may
// be the first digits of a longer number and must not be read as a value. CR LF is accepted, colour
// codes of terminals are taken out, and a line longer than kLongestLine counts as cut at that
// length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "calibration/import/byte_source.h"

namespace plateau::imports {

struct Line {
  std::string_view text;    // without line end; valid until the next call of next()
  std::int64_t number = 0;  // 1-based
  bool terminated = false;  // a newline followed
};

class LineSource {
 public:
  explicit LineSource(ByteSource& bytes) : bytes_(bytes) {}
  bool next(Line& line);

  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

 private:
  bool assemble(std::string_view& text, bool& terminated);
  void without_colours(std::string_view& text);

  ByteSource& bytes_;
  std::string_view block_;
  std::string carried_;  // a line that spans blocks
  std::string clean_;
  std::int64_t number_ = 0;
};

}  // namespace plateau::imports
