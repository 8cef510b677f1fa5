#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;

namespace {

const std::string kScenario = PLATEAU_SOURCE_DIR "/scenarios/teach-kv-wall.yaml";

}  // namespace

TEST_CASE("plateau run --ladder prints the rungs within 80 columns and fills the JSON") {
  const TemporaryFolder folder;
  const std::string json_path = folder.path("report.json");
  const auto transcript = run_plateau("run " + kScenario + " --ladder --json " + json_path);
  CHECK(transcript.code == 0);
  CHECK(transcript.out.find("If changed (* hypothetical)") != std::string::npos);
  CHECK(transcript.out.find("One more") != std::string::npos);
  std::istringstream lines(transcript.out);
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    CHECK_MESSAGE(width <= 80, line);
  }
  const auto report = nlohmann::json::parse(plateau::read_file(json_path));
  const auto& ladder = report["binding"]["ladder"];
  REQUIRE(ladder.size() > 5);
  for (const auto& rung : ladder) {
    CHECK(rung["constraint"].is_string());
    CHECK(
        (rung["tok_per_s_if_relaxed"].is_number() || !rung["not_run"].get<std::string>().empty()));
    CHECK(rung.contains("marginal"));
  }
  CHECK_FALSE(report["bounds"].empty());
}

TEST_CASE("plateau run without --ladder leaves it empty") {
  const auto transcript = run_plateau("run " + kScenario + " --json -");
  CHECK(nlohmann::json::parse(transcript.out)["binding"]["ladder"].empty());
}

TEST_CASE("a what-if scale out of range, or misspelt, is refused with its place") {
  const auto negative = run_plateau("run " + kScenario + " --set hypothetical.host_scale=-1");
  CHECK(negative.code == 2);
  CHECK(negative.err.find("hypothetical.host_scale") != std::string::npos);
  const auto misspelt = run_plateau("run " + kScenario + " --set hypothetical.hots_scale=1");
  CHECK(misspelt.code == 2);
  CHECK(misspelt.err.find("host_scale") != std::string::npos);
}
