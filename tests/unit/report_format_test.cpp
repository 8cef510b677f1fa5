#include "sim/report/format.h"

#include <doctest/doctest.h>

using namespace plateau;

TEST_CASE("format: grouped digits") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(495488) == "495,488");
  CHECK(grouped(-1234567.891, 2) == "-1,234,567.89");
  CHECK(grouped(-0.2) == "0");
}

TEST_CASE("format: about three digits, whole from 100 on") {
  CHECK(compact(0) == "0");
  CHECK(compact(0.89686) == "0.897");
  CHECK(compact(1.5) == "1.50");
  CHECK(compact(12.345) == "12.3");
  CHECK(compact(99.94) == "99.9");
  CHECK(compact(99.96) == "100");
  CHECK(compact(2095.4) == "2,095");
}

TEST_CASE("format: percentages") {
  CHECK(percent(0) == "0 %");
  CHECK(percent(0.593) == "59 %");
  CHECK(percent(0.0593) == "5.9 %");
  CHECK(percent(0.00593) == "0.59 %");
  CHECK(percent(1) == "100 %");
}

TEST_CASE("format: bytes in binary units") {
  CHECK(bytes_text(512) == "512 B");
  CHECK(bytes_text(3.84 * 1024 * 1024 * 1024) == "3.84 GiB");
}

TEST_CASE("format: widths count characters, not bytes") {
  CHECK(width_of("▁█ x") == 4);
  CHECK(pad_right("█", 3) == "█  ");
  CHECK(pad_left("█", 3) == "  █");
  CHECK(ellipsis("abcdefgh", 8) == "abcdefgh");
  CHECK(ellipsis("abcdefghi", 8) == "abcde...");
  CHECK(ellipsis("ααααααααα", 8) == "ααααα...");
}

TEST_CASE("format: wrapping keeps a hanging indent and the width") {
  const auto lines = wrap("KV  ", "one two three four", 12);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "KV  one two");
  CHECK(lines[1] == "    three");
  CHECK(lines[2] == "    four");
  const auto empty = wrap("KV  ", "", 12);
  REQUIRE(empty.size() == 1);
  CHECK(empty[0] == "KV");
}

TEST_CASE("format: bars in eighths") {
  CHECK(bar(0, 4, false).empty());
  CHECK(bar(1, 4, false) == "████");
  CHECK(bar(0.5, 4, false) == "██");
  CHECK(bar(0.53125, 4, false) == "██▏");
  CHECK(bar(7, 2, false) == "██");
  CHECK(bar(0.5, 4, true) == "##");
}

TEST_CASE("format: a chart rises with its curve and points at its mark") {
  const std::vector<CurvePoint> curve = {{1, 100}, {4, 200}, {16, 400}};
  const auto lines = curve_chart(curve, 16, "16 running", 40, 4, true);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0].find("400 |") != std::string::npos);
  CHECK(lines[0].back() == '#');
  CHECK(lines[3].find("|#") != std::string::npos);  // the lowest row is full from the left
  CHECK(lines[5].find("1") != std::string::npos);
  CHECK(lines[5].find("16") != std::string::npos);
  CHECK(lines[6].back() == '^');
  for (const auto& line : lines) CHECK(width_of(line) <= 40);
  CHECK(curve_chart({{1, 100}}, 1, "", 40, 4, true).empty());
  CHECK(curve_chart({}, 1, "", 40, 4, true).empty());
}
