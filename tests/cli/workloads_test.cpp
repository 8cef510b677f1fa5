// Open loops, limits, cost, replicas and the rows of requests, through the command.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using nlohmann::json;
using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;
using plateau::test::Transcript;

namespace {

const std::string kChat = "run " PLATEAU_SOURCE_DIR "/scenarios/azure-conversation-1x-h200.yaml ";

json report_of(const std::string& words) {
  const Transcript run = run_plateau(words + " --json -");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("a chat trace is served within its limits, priced, and every request is written") {
  const TemporaryFolder folder;
  const json report = report_of(kChat + "--requests-csv " + folder.path("r.csv"));
  CHECK(report["throughput"]["requests"] == 600);
  CHECK(report["saturation"]["verdict"] == "stable");
  CHECK(report["goodput"]["limits"].size() == 2);
  CHECK(report["goodput"]["requests_share"].get<double>() > 0.5);
  CHECK(report["cost"]["currency"] == "USD");
  const double hour = report["cost"]["per_hour"];
  const double rate = report["throughput"]["output_tok_per_s"];
  CHECK(report["cost"]["per_million_output_tokens"].get<double>() ==
        doctest::Approx(hour / rate / 3600 * 1e6));
  const auto table = plateau::CsvTable::read(folder.path("r.csv"));
  CHECK(table.rows() == 600);
  const Transcript page = run_plateau(kChat);
  for (const char* part : {"Goodput", "Cost", "Load"})
    CHECK(page.out.find(part) != std::string::npos);
}

TEST_CASE("forty times the chat load saturates, and the page says so") {
  const json report = report_of(kChat + "--set workload.rate_scale=40");
  CHECK(report["saturation"]["verdict"] != "stable");
  CHECK(report["saturation"]["latencies_steady"] == false);
  CHECK(report["goodput"]["met"] == false);
  const Transcript page = run_plateau(kChat + "--set workload.rate_scale=40");
  CHECK(page.out.find("not steady latencies") != std::string::npos);
}

TEST_CASE("replicas: one is the plain engine to the byte, four carry four times the load") {
  const std::string four =
      "run " PLATEAU_SOURCE_DIR "/scenarios/azure-conversation-4x-h200.yaml --json -";
  const json report = json::parse(run_plateau(four).out);
  CHECK(report["scenario"]["gpus"] == 4);
  CHECK(report["replicas"].size() == 4);
  CHECK(report["saturation"]["verdict"] == "stable");
  const Transcript plain = run_plateau(kChat + "--json -");
  CHECK(run_plateau(kChat + "--json - --set parallel.replicas=1").out == plain.out);
}

TEST_CASE("recorded traces of third parties replay when they are present") {
  const std::string folder = PLATEAU_SOURCE_DIR "/../shared/data/traces/";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: no recorded traces");
    return;
  }
  const json azure =
      report_of(kChat + "--set workload.requests=2000 --set workload.trace=" + folder +
                "azure_llm_2023_conv.csv.gz");
  CHECK(azure["throughput"]["requests"] == 2000);
  CHECK(azure["saturation"]["verdict"] != "saturated");
  const std::string mooncake = kChat +
                               "--set workload.requests=300 --set workload.trace=" + folder +
                               "mooncake_fast25_conversation.csv.gz";
  const Transcript refused = run_plateau(mooncake);
  CHECK(refused.code == 2);
  CHECK(refused.err.find("exceed the model's context or the KV pool") != std::string::npos);
  const json dropped = report_of(mooncake + " --set workload.oversized=drop");
  CHECK(dropped["throughput"]["requests"].get<int>() < 300);
  CHECK(dropped["warnings"].dump().find("a prefix cache is not modelled") != std::string::npos);
}
