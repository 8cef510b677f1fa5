// Values inside a line of text: numbers, times, and where a value ends.
//
// A number counts only when the text after it is what the format puts there: a line cut inside
// `2048` must not read as 204.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plateau::imports {

inline constexpr std::size_t kNowhere = std::string_view::npos;

std::string_view trimmed(std::string_view text);
std::string lower(std::string_view text);

// Position of `needle` in `text` from `from`: memmem, several times faster than string_view::find.
std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from = 0);
inline bool contains(std::string_view text, std::string_view needle) {
  return find_text(text, needle) != kNowhere;
}

// The whole text is one finite decimal number.
std::optional<double> number(std::string_view text);

// A number at the start of `text`, with thousands separators when `grouped`; `length` is what it
// took.
struct Leading {
  double value = 0;
  std::size_t length = 0;
};
std::optional<Leading> leading_number(std::string_view text, bool grouped = false);

// What ends a value.
enum class End : std::uint8_t {
  suffix,          // the given unit, exactly
  grouped_suffix,  // the same, and the number may have thousands separators
  comma,           // a comma
  line_end         // a comma, or the newline of the line
};

// The number behind the first `key` in `text` that stands at the start of a word. `newline`:
// whether the line had one.
std::optional<double> number_after(std::string_view text, std::string_view key, End end,
                                   std::string_view suffix = "", bool newline = false);

// Seconds since 1970-01-01 of "YYYY-MM-DD HH:MM:SS[.fraction]" at the start of `text`, the zone
// being the text's own ('/' and 'T' are accepted too).
std::optional<Leading> leading_date_time(std::string_view text);
// Seconds since 1 January (leap year) of "MM-DD HH:MM:SS".
std::optional<Leading> leading_month_day_time(std::string_view text);
std::int64_t days_since_1970(int year, int month, int day);

// A column name from a label: "#swa token" -> swa_token, "est. read BW (GB/s)" ->
// est_read_bw_gb_per_s.
std::string column_name(std::string_view label);

}  // namespace plateau::imports
