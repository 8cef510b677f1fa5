#include <doctest/doctest.h>

#include <cmath>
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

TEST_CASE("plateau explain prints one table within 80 columns, and JSON that sums") {
  const TemporaryFolder folder;
  const std::string json_path = folder.path("explain.json");
  const auto transcript = run_plateau(
      "explain " + kScenario + " " + kScenario +
      " --set-a workload.concurrency=4 --set-b workload.concurrency=8 --json " + json_path);
  CHECK(transcript.code == 0);
  CHECK(transcript.err.empty());
  CHECK(transcript.out.find("whole") != std::string::npos);
  CHECK(transcript.out.find("workload.concurrency=4") != std::string::npos);
  std::istringstream lines(transcript.out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  const auto json = nlohmann::json::parse(plateau::read_file(json_path));
  CHECK(json["schema"] == "plateau-explain/1");
  for (const char* figure : {"output_tok_per_s", "tpot_ms", "gpu_w_mean"}) {
    double sum = 0;
    for (const auto& cause : json["causes"]) sum += cause[figure].get<double>();
    CHECK(std::abs(sum - json["change"][figure].get<double>()) < 1e-6);
  }
}

TEST_CASE("plateau explain B A is the negative of plateau explain A B") {
  const std::string words = " --set-a workload.concurrency=4 --set-b workload.concurrency=8";
  const std::string turned = " --set-b workload.concurrency=4 --set-a workload.concurrency=8";
  const std::string explain = "explain " + kScenario + " " + kScenario;
  const auto forward = nlohmann::json::parse(run_plateau(explain + words + " --json -").out);
  const auto backward = nlohmann::json::parse(run_plateau(explain + turned + " --json -").out);
  REQUIRE(forward["causes"].size() == backward["causes"].size());
  for (std::size_t i = 0; i < forward["causes"].size(); ++i) {
    const auto& a = forward["causes"][i];
    const auto& b = backward["causes"][i];
    CHECK(a["cause"] == b["cause"]);
    CHECK(a["output_tok_per_s"].get<double>() == -b["output_tok_per_s"].get<double>());
  }
}

TEST_CASE("plateau explain wants two scenarios") {
  const auto transcript = run_plateau("explain " + kScenario);
  CHECK(transcript.code == 2);
  CHECK(transcript.err.find("plateau explain: b is required") != std::string::npos);
}
