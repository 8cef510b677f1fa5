// Quantities as people write them: "128 tokens", "30 us", "96 GiB", "600 W", "1980 MHz", "4 GB/s".
//
// A quantity is a number and a unit; one without a unit is refused, because a bare 30 has been read
// as microseconds and as milliseconds before. Decimal and binary prefixes are different units: 1 GB
// = 1e9 B, 1 GiB = 2^30 B. Values are handed out in the base unit: tokens, s, B, W, Hz, B/s,
// FLOP/s, requests/s, J.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plateau {

enum class Dimension : std::uint8_t {
  tokens,
  time,
  memory,
  power,
  frequency,
  bandwidth,
  compute,
  rate,
  energy
};

struct Quantity {
  double value = 0;   // in the base unit
  std::string error;  // empty: good; else what is wrong
  std::string hint;
};

// The space between number and unit may be left out. Never throws.
Quantity parse_quantity(std::string_view text, Dimension dimension);

// The base value with the base unit, shortest digits that read back as the same double: "0.00003
// s".
std::string format_quantity(double value, Dimension dimension);

const char* name_of(Dimension dimension);   // "time"
std::string units_of(Dimension dimension);  // "ns, us, ms, s, min, h"

// Whole number of at most 18 digits, "-5" but neither "+5", "010", "1e3", "5.0" nor "1_000".
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace plateau
