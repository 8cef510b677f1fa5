#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

constexpr int kEighths = 8;
const char* const kUpBlocks[kEighths + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
const char* const kRightBlocks[kEighths + 1] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

// log2, straight lines between powers of two: good enough for an axis, and equal everywhere.
double axis_log2(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return exponent - 1 + (2 * mantissa - 1);
}

std::string repeat(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

double interpolate(const std::vector<CurvePoint>& curve, double x) {  // x in axis_log2
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    const double a = axis_log2(curve[i].running);
    const double b = axis_log2(curve[i + 1].running);
    if (x > b && i + 2 < curve.size()) continue;
    const double t = b > a ? std::clamp((x - a) / (b - a), 0.0, 1.0) : 0;
    return curve[i].tok_per_s + t * (curve[i + 1].tok_per_s - curve[i].tok_per_s);
  }
  return 0;
}

// The chart's plane: where a number of running requests stands on the axis.
struct Plane {
  double left = 0;  // axis_log2
  double right = 1;
  std::size_t columns = 0;
  std::size_t column_of(double running) const {
    const double t = std::clamp((axis_log2(running) - left) / (right - left), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(t * static_cast<double>(columns - 1)));
  }
  double at(std::size_t column) const {
    return left + (right - left) * static_cast<double>(column) / static_cast<double>(columns - 1);
  }
};

// Labels under their points, the last one always, others where they leave two blanks.
std::string axis_labels(const std::vector<CurvePoint>& curve, const Plane& plane) {
  const auto start_of = [&](std::size_t i, std::size_t size) {
    const std::size_t column = plane.column_of(curve[i].running);
    return std::min(column > size / 2 ? column - size / 2 : 0, plane.columns - size);
  };
  const std::string last = grouped(curve.back().running);
  const std::size_t end = start_of(curve.size() - 1, last.size());
  std::string line;
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    const std::string label = grouped(curve[i].running);
    const std::size_t start = start_of(i, label.size());
    if (start + label.size() + 2 > end || (!line.empty() && start < line.size() + 2)) continue;
    line += std::string(start - line.size(), ' ') + label;
  }
  return line + std::string(end - line.size(), ' ') + last;
}

std::string mark_line(std::size_t column, const std::string& text, std::size_t limit, bool ascii) {
  const std::string arrow = ascii ? "^" : "▲";
  const std::size_t width = width_of(text);
  if (column + 2 + width <= limit) return std::string(column, ' ') + arrow + " " + text;
  if (column > width) return std::string(column - width - 1, ' ') + text + " " + arrow;
  return std::string(column, ' ') + arrow;
}

}  // namespace

std::string grouped(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals);
  std::size_t point = digits.find('.');
  if (point == std::string::npos) point = digits.size();
  for (std::size_t at = point; at > 3; at -= 3) digits.insert(at - 3, ",");
  const bool zero = digits.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !zero ? "-" + digits : digits;
}

std::string compact(double value) {
  const double size = std::abs(value);
  if (value == std::round(value)) return grouped(value);
  if (size >= 99.95) return grouped(value);
  if (size >= 9.995) return grouped(value, 1);
  if (size >= 0.9995) return grouped(value, 2);
  return fmt::format("{:.3g}", value);
}

std::string percent(double share) {
  const double value = share * 100;
  const double size = std::abs(value);
  return grouped(value, size >= 9.95 || size == 0 ? 0 : size >= 0.995 ? 1 : 2) + " %";
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return grouped(bytes, unit == 0 ? 0 : 2) + " " + kUnits[unit];
}

std::size_t width_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t now = width_of(text);
  return now < width ? text + std::string(width - now, ' ') : text;
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t now = width_of(text);
  return now < width ? std::string(width - now, ' ') + text : text;
}

std::string ellipsis(std::string text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && ++seen > width - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::vector<std::string> wrap(const std::string& first, const std::string& text, std::size_t width,
                              LongWords long_words) {
  std::vector<std::string> lines;
  const std::string blanks(width_of(first), ' ');
  std::string line = first;
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, space - at);
    if (long_words == LongWords::shortened) word = ellipsis(word, width - width_of(first));
    at = space + 1;
    if (word.empty()) continue;
    if (!empty && width_of(line) + 1 + width_of(word) > width) {
      lines.push_back(line);
      line = blanks;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  if (!empty || lines.empty()) lines.push_back(trimmed(line));
  return lines;
}

std::string bar(double share, std::size_t width, bool ascii) {
  const double clipped = std::clamp(share, 0.0, 1.0);
  const auto eighths =
      static_cast<std::size_t>(std::lround(clipped * static_cast<double>(width) * kEighths));
  if (ascii) return std::string((eighths + kEighths / 2) / kEighths, '#');
  return repeat(kRightBlocks[kEighths], eighths / kEighths) + kRightBlocks[eighths % kEighths];
}

std::vector<std::string> curve_chart(const std::vector<CurvePoint>& curve, double mark,
                                     const std::string& mark_text, std::size_t width, int rows,
                                     bool ascii) {
  double top = 0;
  for (const CurvePoint& point : curve) {
    if (point.running <= 0) return {};
    top = std::max(top, point.tok_per_s);
  }
  if (curve.size() < 2 || top <= 0 || curve.back().running <= curve.front().running) return {};
  const std::string top_label = grouped(top);
  const std::size_t margin = std::max<std::size_t>(8, top_label.size() + 1);
  const Plane plane{axis_log2(curve.front().running), axis_log2(curve.back().running),
                    width - margin - 2};
  std::vector<std::string> lines;
  for (int row = rows; row >= 1; --row) {
    std::string line = pad_left(row == rows ? top_label : "", margin) + (ascii         ? " |"
                                                                         : row == rows ? " ┤"
                                                                                       : " │");
    for (std::size_t column = 0; column < plane.columns; ++column) {
      const double height = interpolate(curve, plane.at(column)) / top * rows * kEighths;
      const int here =
          std::clamp(static_cast<int>(std::lround(height)) - (row - 1) * kEighths, 0, kEighths);
      line += ascii ? (here > kEighths / 2 ? "#" : " ") : kUpBlocks[here];
    }
    lines.push_back(trimmed(line));
  }
  lines.push_back(pad_left("0", margin) + (ascii ? " +" : " └") +
                  repeat(ascii ? "-" : "─", plane.columns));
  const std::string indent(margin + 2, ' ');
  lines.push_back(indent + axis_labels(curve, plane));
  if (mark > 0)
    lines.push_back(indent + mark_line(plane.column_of(mark), mark_text, plane.columns, ascii));
  return lines;
}

Page::Page(const TextOptions& options)
    : options_(options),
      width_(std::max(kMinimumColumns, static_cast<std::size_t>(std::max(0, options.columns)))) {}

void Page::line(const std::string& text, Ink ink) {
  std::string shown = ellipsis(text, width_);
  shown.erase(shown.find_last_not_of(' ') + 1);
  if (options_.colour && ink != Ink::plain)
    shown = (ink == Ink::bold ? "\x1b[1m" : "\x1b[33m") + shown + "\x1b[0m";
  text_ += shown + '\n';
}

void Page::paragraph(const std::string& first, const std::string& text, Ink ink) {
  for (const std::string& wrapped : wrap(first, text, width_)) line(wrapped, ink);
}

void Page::fact(const std::string& label, const std::string& text) {
  paragraph(pad_right(label, kLabel), text);
}

void Page::heading(const std::string& text) {
  line();
  line(text, Ink::bold);
}

}  // namespace plateau
