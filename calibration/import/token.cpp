#include "calibration/import/token.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

namespace plateau::imports {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Fixed-width unsigned number, or nothing.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t width) {
  if (at + width > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// "HH:MM:SS[.fraction]" at `at`.
std::optional<Leading> time_of_day(std::string_view text, std::size_t at) {
  const auto hour = digits(text, at, 2);
  const auto minute = digits(text, at + 3, 2);
  const auto second = digits(text, at + 6, 2);
  if (!hour || !minute || !second || text[at + 2] != ':' || text[at + 5] != ':')
    return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  double seconds = *hour * 3600 + *minute * 60 + *second;
  std::size_t end = at + 8;
  if (end + 1 < text.size() && (text[end] == '.' || text[end] == ',') && is_digit(text[end + 1])) {
    double scale = 1;
    double fraction = 0;
    for (++end; end < text.size() && is_digit(text[end]); ++end) {
      if (scale < 1e9) {
        fraction = fraction * 10 + (text[end] - '0');
        scale *= 10;
      }
    }
    seconds += fraction / scale;
  }
  return Leading{seconds, end - at};
}

std::optional<Leading> grouped_number(std::string_view text) {
  double value = 0;
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) value = value * 10 + (text[at++] - '0');
  if (at == 0) return std::nullopt;
  while (at + 3 < text.size() && text[at] == ',') {
    const auto group = digits(text, at + 1, 3);
    if (!group) break;
    value = value * 1000 + *group;
    at += 4;
  }
  return Leading{value, at};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == kNowhere) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (from >= text.size()) return kNowhere;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return kNowhere;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::optional<double> number(std::string_view text) {
  const std::optional<Leading> found = leading_number(text);
  if (!found || found->length != text.size()) return std::nullopt;
  return found->value;
}

std::optional<Leading> leading_number(std::string_view text, bool grouped) {
  if (grouped) return grouped_number(text);
  if (text.empty()) return std::nullopt;
  const std::size_t first = text[0] == '-' ? 1 : 0;  // from_chars would take "inf" and "nan" too
  if (first >= text.size() || (!is_digit(text[first]) && text[first] != '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return Leading{value, static_cast<std::size_t>(end - text.data())};
}

std::optional<double> number_after(std::string_view text, std::string_view key, End end,
                                   std::string_view suffix, bool newline) {
  for (std::size_t at = find_text(text, key); at != kNowhere; at = find_text(text, key, at + 1)) {
    if (at > 0 && is_word(key[0]) && is_word(text[at - 1])) continue;
    const std::string_view rest = text.substr(at + key.size());
    const std::optional<Leading> found = leading_number(rest, end == End::grouped_suffix);
    if (!found) return std::nullopt;
    const std::string_view after = rest.substr(found->length);
    if (end == End::suffix || end == End::grouped_suffix) {
      if (after.substr(0, suffix.size()) != suffix) return std::nullopt;
      return found->value;
    }
    const bool ended = after.empty() ? end == End::line_end && newline : after[0] == ',';
    return ended ? std::optional<double>(found->value) : std::nullopt;
  }
  return std::nullopt;
}

// Days of the proleptic Gregorian calendar, counted from 1 March of year 0 in eras of 400 years.
std::int64_t days_since_1970(int year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const int era = (year >= 0 ? year : year - 399) / 400;
  const int year_of_era = year - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return static_cast<std::int64_t>(era) * 146097 + day_of_era - 719468;
}

std::optional<Leading> leading_date_time(std::string_view text) {
  if (text.size() < 19 || (text[4] != '-' && text[4] != '/') || text[7] != text[4])
    return std::nullopt;
  if (text[10] != ' ' && text[10] != 'T') return std::nullopt;
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  if (!year || !month || !day || *month < 1 || *month > 12 || *day < 1 || *day > 31)
    return std::nullopt;
  const auto time = time_of_day(text, 11);
  if (!time) return std::nullopt;
  const auto days = static_cast<double>(days_since_1970(*year, *month, *day));
  return Leading{days * 86400 + time->value, 11 + time->length};
}

std::optional<Leading> leading_month_day_time(std::string_view text) {
  if (text.size() < 14 || text[2] != '-' || text[5] != ' ') return std::nullopt;
  const auto month = digits(text, 0, 2);
  const auto day = digits(text, 3, 2);
  if (!month || !day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return std::nullopt;
  const auto time = time_of_day(text, 6);
  if (!time) return std::nullopt;
  constexpr int kLeapYear = 2000;
  const auto days = static_cast<double>(days_since_1970(kLeapYear, *month, *day) -
                                        days_since_1970(kLeapYear, 1, 1));
  return Leading{days * 86400 + time->value, 6 + time->length};
}

std::string column_name(std::string_view label) {
  std::string name;
  for (const char c : label) {
    if (is_word(c)) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == '/') {
      name += "_per_";
    } else if (c == '%') {
      name += "_pct";
    } else {
      name += '_';
    }
  }
  std::string result;
  for (const char c : name) {
    if (c == '_' && (result.empty() || result.back() == '_')) continue;
    result += c;
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result;
}

}  // namespace plateau::imports
