// Numbers, bars and charts as characters, for the text reports. Widths are counted in characters
// (code points), not bytes. No locale: the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.h"

namespace plateau {

std::string grouped(double value, int decimals = 0);  // 12,345.6
std::string compact(double value);  // about 3 significant digits: 12,346  123  12.3  1.23  0.0123
std::string percent(double share);  // 0.593 -> "59 %", 0.0593 -> "5.9 %", 0.00593 -> "0.59 %"
std::string bytes_text(double bytes);  // binary units: 25.48 GiB

std::size_t width_of(std::string_view utf8);
std::string pad_right(std::string text, std::size_t width);
std::string pad_left(std::string text, std::size_t width);
std::string ellipsis(std::string text,
                     std::size_t width);  // shortened to `width`, "..." at the end

// Words of `text` in lines of at most `width`, the first line after `first`, the others after as
// many blanks. A word that is longer is shortened, or kept (a path).
enum class LongWords : std::uint8_t { shortened, kept };
std::vector<std::string> wrap(const std::string& first, const std::string& text, std::size_t width,
                              LongWords long_words = LongWords::shortened);

// share of `width` in eighths of a character.
std::string bar(double share, std::size_t width, bool ascii);

// Columns over log2(x), filled up to y, `rows` high; the mark line points at x = mark. Empty for
// fewer than two points.
std::vector<std::string> curve_chart(const std::vector<CurvePoint>& curve, double mark,
                                     const std::string& mark_text, std::size_t width, int rows,
                                     bool ascii);

// Lines of a text report, none wider than the options allow, none with trailing blanks.
class Page {
 public:
  static constexpr std::size_t kMinimumColumns = 60;
  static constexpr std::size_t kLabel = 13;  // left column of facts
  enum class Ink : std::uint8_t { plain, bold, warning };

  explicit Page(const TextOptions& options);

  std::size_t width() const { return width_; }
  bool ascii() const { return options_.ascii; }
  const std::string& text() const { return text_; }

  void line(const std::string& text = "", Ink ink = Ink::plain);
  void paragraph(const std::string& first, const std::string& text,
                 Ink ink = Ink::plain);  // wrapped
  void fact(const std::string& label, const std::string& text);
  void heading(const std::string& text);  // after an empty line

 private:
  TextOptions options_;
  std::size_t width_;
  std::string text_;
};

}  // namespace plateau
