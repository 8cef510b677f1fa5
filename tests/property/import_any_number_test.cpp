// Any digits where a number stands: an id, a count or a time that no machine has. The file is
// refused with a sentence, or what is read of it can be written, told and searched for steps; what
// a conversion does past its type's edge shows under UBSan (tools/sanitize).
#include <doctest/doctest.h>

#include <array>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "calibration/import/decode_samples.h"
#include "calibration/import/prefill_samples.h"
#include "calibration/import/write_measurement.h"
#include "calibration/join/windows.h"
#include "calibration/whole.h"
#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// All that the commands do with an import.
void use(const Measurement& measurement) {
  std::string json;
  write_json(measurement, [&](std::string_view part) { json += part; });
  CHECK(nlohmann::json::parse(json).contains("series"));
  std::size_t bytes = 0;
  write_csv(measurement, [&](std::string_view part) { bytes += part.size(); });
  describe(measurement);
  const DecodeSamples samples = decode_step_samples(measurement);
  prefill_samples(measurement);
  plateau::join::steady_windows(samples);
  plateau::join::idle_windows(measurement, samples);
}

void check_numbers_of(const std::string& path) {
  CAPTURE(path);
  const std::string text = slurp(path);
  static const std::array<std::string, 4> kOdd = {"1" + std::string(84, '0'), "9223372036854775808",
                                                  "4294967296", "1e300"};
  std::size_t turn = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && is_digit(text[at - 1]))) continue;
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string changed = text.substr(0, at) + kOdd[turn++ % kOdd.size()] + text.substr(end);
    CAPTURE(at);
    try {
      use(import_text(changed));
    } catch (const plateau::InputError&) {
    }
  }
  CHECK(turn > 0);
}

}  // namespace

TEST_CASE("a number of any size in a sample is read, left out or refused") {
  const std::string folder = std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != "README.md") check_numbers_of(entry.path().string());
  }
}

TEST_CASE("the whole part stays inside its type") {
  using plateau::whole;
  CHECK(whole(2.9) == 2);
  CHECK(whole(-2.9) == -2);
  CHECK(whole(1e84) == std::numeric_limits<std::int64_t>::max());
  CHECK(whole(-1e84) == std::numeric_limits<std::int64_t>::min());
  CHECK(whole(9223372036854775807.0) == std::numeric_limits<std::int64_t>::max());
  CHECK(whole<int>(2147483647.0) == 2147483647);
  CHECK(whole<int>(2147483648.0) == 2147483647);
  CHECK(whole<int>(-2147483649.0) == std::numeric_limits<int>::min());
  CHECK(whole<int>(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(whole<int>(-std::numeric_limits<double>::infinity()) == std::numeric_limits<int>::min());
}

TEST_CASE("a time that no calendar holds is told in seconds") {
  CHECK(time_text(Clock::epoch, 0) == "1970-01-01 00:00:00");
  CHECK(time_text(Clock::epoch, 2.026e84).find(" s") != std::string::npos);
  CHECK(time_text(Clock::no_year, -1e300).find(" s") != std::string::npos);
}
