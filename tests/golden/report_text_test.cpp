// The text of a report, to the character. After a wanted change: PLATEAU_UPDATE_GOLDEN=1
// test_golden, and read the difference before committing it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sim/report/format.h"
#include "tests/support/synthetic_report.h"

using namespace plateau;
using namespace plateau::test;

namespace {

void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(PLATEAU_SOURCE_DIR "/tests/golden/expected/") + name;
  if (std::getenv("PLATEAU_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  REQUIRE_MESSAGE(file.good(), path);
  CHECK(text == expected.str());
}

void check_lines(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(width_of(line) <= columns, line);
    CHECK_MESSAGE((line.empty() || line.back() != ' '), line);
  }
}

}  // namespace

TEST_CASE("report text: a synthetic plateau at 80 columns") {
  const std::string text = report_text(synthetic_report());
  check_lines(text, 80);
  check_golden("report_80_columns.txt", text);
}

TEST_CASE("report text: plain ASCII") {
  TextOptions options;
  options.ascii = true;
  const std::string text = report_text(synthetic_report(), options);
  for (const char c : text) REQUIRE(static_cast<unsigned char>(c) < 0x80U);
  check_lines(text, 80);
  check_golden("report_ascii.txt", text);
}

TEST_CASE("report text: other widths hold, and colour is off unless asked for") {
  const Report report = synthetic_report();
  for (const int columns : {60, 72, 100, 132}) {
    TextOptions options;
    options.columns = columns;
    check_lines(report_text(report, options), static_cast<std::size_t>(columns));
  }
  CHECK(report_text(report).find('\x1b') == std::string::npos);
  TextOptions coloured;
  coloured.colour = true;
  std::string text = report_text(report, coloured);
  CHECK(text.find('\x1b') != std::string::npos);
  for (std::size_t at = 0; (at = text.find('\x1b')) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  CHECK(text == report_text(report));
}
