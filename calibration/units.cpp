#include "calibration/units.h"

#include <array>
#include <charconv>
#include <cmath>

#include "calibration/csv.h"

namespace plateau {

namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;       // base units in one of it; < 0: one over so many, which a double can hold
  bool listed = true;  // named in hints; a second spelling is not
};

constexpr double kKi = 1024.0;

// The first unit of a dimension with factor 1 is its base unit.
constexpr std::array kUnits = {
    Unit{"tokens", Dimension::tokens, 1},
    Unit{"token", Dimension::tokens, 1, false},
    Unit{"ns", Dimension::time, -1e9},
    Unit{"us", Dimension::time, -1e6},
    Unit{"\xC2\xB5s", Dimension::time, -1e6, false},  // micro sign
    Unit{"\xCE\xBCs", Dimension::time, -1e6, false},  // Greek mu
    Unit{"ms", Dimension::time, -1e3},
    Unit{"s", Dimension::time, 1},
    Unit{"min", Dimension::time, 60},
    Unit{"h", Dimension::time, 3600},
    Unit{"B", Dimension::memory, 1},
    Unit{"KiB", Dimension::memory, kKi},
    Unit{"MiB", Dimension::memory, kKi* kKi},
    Unit{"GiB", Dimension::memory, kKi* kKi* kKi},
    Unit{"TiB", Dimension::memory, kKi* kKi* kKi* kKi},
    Unit{"kB", Dimension::memory, 1e3},
    Unit{"MB", Dimension::memory, 1e6},
    Unit{"GB", Dimension::memory, 1e9},
    Unit{"TB", Dimension::memory, 1e12},
    Unit{"mW", Dimension::power, -1e3, false},
    Unit{"W", Dimension::power, 1},
    Unit{"kW", Dimension::power, 1e3},
    Unit{"Hz", Dimension::frequency, 1},
    Unit{"kHz", Dimension::frequency, 1e3},
    Unit{"MHz", Dimension::frequency, 1e6},
    Unit{"GHz", Dimension::frequency, 1e9},
    Unit{"B/s", Dimension::bandwidth, 1},
    Unit{"KiB/s", Dimension::bandwidth, kKi, false},
    Unit{"MiB/s", Dimension::bandwidth, kKi* kKi, false},
    Unit{"GiB/s", Dimension::bandwidth, kKi* kKi* kKi},
    Unit{"TiB/s", Dimension::bandwidth, kKi* kKi* kKi* kKi, false},
    Unit{"kB/s", Dimension::bandwidth, 1e3, false},
    Unit{"MB/s", Dimension::bandwidth, 1e6},
    Unit{"GB/s", Dimension::bandwidth, 1e9},
    Unit{"TB/s", Dimension::bandwidth, 1e12},
    Unit{"FLOP/s", Dimension::compute, 1},
    Unit{"GFLOP/s", Dimension::compute, 1e9},
    Unit{"TFLOP/s", Dimension::compute, 1e12},
    Unit{"PFLOP/s", Dimension::compute, 1e15},
    Unit{"requests/s", Dimension::rate, 1},
    Unit{"request/s", Dimension::rate, 1, false},
    Unit{"req/s", Dimension::rate, 1, false},
    Unit{"requests/min", Dimension::rate, -60},
    Unit{"J", Dimension::energy, 1},
    Unit{"kJ", Dimension::energy, 1e3},
    Unit{"Wh", Dimension::energy, 3600},
    Unit{"kWh", Dimension::energy, 3.6e6},
};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string_view base_unit(Dimension dimension) {
  for (const Unit& unit : kUnits) {
    if (unit.dimension == dimension && unit.factor == 1) return unit.name;
  }
  return "";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What a person who left the unit out most likely meant.
std::string_view usual_unit(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return "ms";
    case Dimension::memory:
      return "GiB";
    case Dimension::frequency:
      return "MHz";
    case Dimension::bandwidth:
      return "GB/s";
    case Dimension::compute:
      return "TFLOP/s";
    default:
      return base_unit(dimension);
  }
}

Quantity failure(std::string error, std::string hint) {
  return Quantity{0, std::move(error), std::move(hint)};
}

std::string quoted(std::string_view text) { return "`" + std::string(text) + "`"; }

}  // namespace

Quantity parse_quantity(std::string_view text, Dimension dimension) {
  text = trimmed(text);
  const std::string example = "write a " + std::string(name_of(dimension)) + " such as `128 " +
                              std::string(usual_unit(dimension)) + "`";
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && std::isfinite(number);
  if (!good) return failure(quoted(text) + " is not a number with a unit", example);
  const auto digits = static_cast<std::size_t>(end - text.data());
  const std::string_view unit_name = trimmed(text.substr(digits));
  if (unit_name.empty()) {
    return failure(quoted(text) + " has no unit",
                   "write " + quoted(std::string(text) + " " + std::string(usual_unit(dimension))) +
                       "; units: " + units_of(dimension));
  }
  const Unit* unit = find_unit(unit_name);
  if (unit == nullptr) {
    return failure(quoted(unit_name) + " is not a unit of " + name_of(dimension),
                   "units: " + units_of(dimension));
  }
  if (unit->dimension != dimension) {
    return failure(
        quoted(text) + " is a " + name_of(unit->dimension) + ", not a " + name_of(dimension),
        "units: " + units_of(dimension));
  }
  const double value = unit->factor > 0 ? number * unit->factor : number / -unit->factor;
  if (!std::isfinite(value)) return failure(quoted(text) + " is too large", example);
  return Quantity{value, "", ""};
}

std::string format_quantity(double value, Dimension dimension) {
  std::array<char, 40> digits{};
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const auto result = whole ? std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                            std::chars_format::fixed)
                            : std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), result.ptr) + " " + std::string(base_unit(dimension));
}

const char* name_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::tokens:
      return "token count";
    case Dimension::time:
      return "time";
    case Dimension::memory:
      return "memory size";
    case Dimension::power:
      return "power";
    case Dimension::frequency:
      return "frequency";
    case Dimension::bandwidth:
      return "bandwidth";
    case Dimension::compute:
      return "compute rate";
    case Dimension::rate:
      return "request rate";
    case Dimension::energy:
      return "energy";
  }
  return "";
}

std::string units_of(Dimension dimension) {
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.dimension != dimension || !unit.listed) continue;
    text += (text.empty() ? "" : ", ") + std::string(unit.name);
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > 18 || (digits.size() > 1 && digits.front() == '0')) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

}  // namespace plateau
