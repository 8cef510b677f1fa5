#include "calibration/units.h"

#include <doctest/doctest.h>

#include <string>

using plateau::Dimension;
using plateau::format_quantity;
using plateau::parse_integer;
using plateau::parse_quantity;

namespace {

double value_of(std::string_view text, Dimension dimension) {
  const plateau::Quantity quantity = parse_quantity(text, dimension);
  CHECK(quantity.error == "");
  return quantity.value;
}

std::string error_of(std::string_view text, Dimension dimension) {
  const plateau::Quantity quantity = parse_quantity(text, dimension);
  return quantity.error + (quantity.hint.empty() ? "" : " (" + quantity.hint + ")");
}

}  // namespace

TEST_CASE("quantities are read in base units") {
  CHECK(value_of("128 tokens", Dimension::tokens) == 128);
  CHECK(value_of("30 us", Dimension::time) == 30e-6);
  CHECK(value_of("1.5ms", Dimension::time) == 1.5e-3);
  CHECK(value_of("30 \xC2\xB5s", Dimension::time) == value_of("30 us", Dimension::time));
  CHECK(value_of("600 W", Dimension::power) == 600);
  CHECK(value_of("1980 MHz", Dimension::frequency) == 1.98e9);
  CHECK(value_of("4 GB/s", Dimension::bandwidth) == 4e9);
  CHECK(value_of("1e3 requests/s", Dimension::rate) == 1000);
}

TEST_CASE("GB is not GiB") {
  CHECK(value_of("96 GiB", Dimension::memory) == 96.0 * 1073741824.0);
  CHECK(value_of("96 GB", Dimension::memory) == 96e9);
}

TEST_CASE("a quantity without its unit, or with another, is refused with the units to use") {
  CHECK(error_of("128", Dimension::tokens) ==
        "`128` has no unit (write `128 tokens`; units: tokens)");
  CHECK(error_of("30", Dimension::time) ==
        "`30` has no unit (write `30 ms`; units: ns, us, ms, s, min, h)");
  CHECK(error_of("30 us", Dimension::power) == "`30 us` is a time, not a power (units: W, kW)");
  CHECK(error_of("96 Gib", Dimension::memory) ==
        "`Gib` is not a unit of memory size (units: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)");
  CHECK(error_of("fast", Dimension::time) ==
        "`fast` is not a number with a unit (write a time such as `128 ms`)");
  CHECK(error_of("nan s", Dimension::time) != "");
  CHECK(error_of("1e308 TB", Dimension::memory).find("too large") != std::string::npos);
  CHECK(error_of("", Dimension::time) != "");
}

TEST_CASE("a formatted quantity reads back") {
  CHECK(format_quantity(128, Dimension::tokens) == "128 tokens");
  CHECK(format_quantity(600, Dimension::power) == "600 W");
  CHECK(value_of(format_quantity(30e-6, Dimension::time), Dimension::time) == 30e-6);
}

TEST_CASE("whole numbers have one spelling") {
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-12") == -12);
  CHECK(parse_integer("999999999999999999") == 999999999999999999);
  for (const char* text :
       {"", "-", "+5", "010", "0x10", "1e3", "5.0", "1_000", " 5", "1000000000000000000"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_integer(text));
  }
}
