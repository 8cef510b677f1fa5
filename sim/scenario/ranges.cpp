#include "sim/scenario/ranges.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "calibration/csv.h"
#include "calibration/units.h"
#include "sim/scenario/overlay.h"

namespace plateau {

namespace {

constexpr std::int64_t kMostSteps = 10'000;

[[noreturn]] void fail(const std::string& key, std::string message, std::string hint = "") {
  throw InputError(Problem{kCommandLine, 0, 0, key, std::move(message), std::move(hint)});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas, save those inside brackets, braces or quotes.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> items;
  int depth = 0;
  char quote = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      items.push_back(trimmed(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  items.push_back(trimmed(text.substr(start)));
  return items;
}

struct End {
  double value = 0;
  bool whole = false;
  std::string_view unit;
};

std::optional<End> parse_end(std::string_view text) {
  text = trimmed(text);
  const std::size_t digits = std::min(text.find_first_not_of("+-.0123456789eE"), text.size());
  const std::string_view number = trimmed(text.substr(0, digits));
  const auto value = parse_number(number);
  if (!value) return std::nullopt;
  return End{*value, parse_integer(number).has_value(), trimmed(text.substr(digits))};
}

std::string shown(double value) {
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), result.ptr);
}

std::vector<std::string> points(const End& low, const End& high, std::int64_t steps) {
  const bool whole = low.whole && high.whole;
  const std::string_view unit = high.unit.empty() ? low.unit : high.unit;
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < steps; ++i) {
    double value = low.value;
    if (i > 0) {
      value = i + 1 == steps ? high.value
                             : low.value + (high.value - low.value) * static_cast<double>(i) /
                                               static_cast<double>(steps - 1);
    }
    std::string text = whole ? std::to_string(std::llround(value)) : shown(value);
    if (!unit.empty()) text += " " + std::string(unit);
    if (values.empty() || values.back() != text) values.push_back(std::move(text));
  }
  return values;
}

std::vector<std::string> parse_range(std::string_view text, std::size_t dots,
                                     const std::string& key) {
  const std::string whole = "`" + std::string(text) + "`";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon < dots)
    fail(key, whole + " says no number of steps", "write lo..hi:steps");
  const auto low = parse_end(text.substr(0, dots));
  const auto high = parse_end(text.substr(dots + 2, colon - dots - 2));
  if (!low || !high) fail(key, "an end of " + whole + " is not a number", "write lo..hi:steps");
  if (!low->unit.empty() && !high->unit.empty() && low->unit != high->unit) {
    fail(key, "the ends of " + whole + " have different units");
  }
  const auto steps = parse_integer(trimmed(text.substr(colon + 1)));
  const std::int64_t least = low->value == high->value ? 1 : 2;
  if (!steps || *steps < least || *steps > kMostSteps) {
    fail(key, "the steps of " + whole + " are not a count of " + std::to_string(least) + " to " +
                  std::to_string(kMostSteps));
  }
  return points(*low, *high, *steps);
}

}  // namespace

std::vector<std::string> parse_values(std::string_view text, const std::string& key,
                                      Repeats repeats) {
  std::vector<std::string> values;
  for (const std::string_view item : split_at_commas(text)) {
    if (item.empty()) fail(key, "an empty value in `" + std::string(text) + "`", "write a,b,c");
    const std::size_t dots = item.find("..");
    // A range begins with a number; "../other" does not.
    const bool range = dots != std::string_view::npos && parse_end(item.substr(0, dots));
    std::vector<std::string> some =
        range ? parse_range(item, dots, key) : std::vector<std::string>{std::string(item)};
    for (std::string& value : some) {
      if (repeats == Repeats::keep ||
          std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
    }
  }
  return values;
}

Variation parse_variation(std::string_view text, Repeats repeats) {
  const std::size_t equals = text.find('=');
  const std::string key(text.substr(0, equals));
  if (equals == std::string_view::npos || key.empty()) {
    fail("--vary " + std::string(text), "names no key and values",
         "write --vary workload.concurrency=256,512,1024");
  }
  return Variation{key, parse_values(text.substr(equals + 1), key, repeats)};
}

}  // namespace plateau
