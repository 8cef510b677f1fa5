#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;

namespace {

const std::string kScenarios = PLATEAU_SOURCE_DIR "/scenarios/";
const std::string kPool = kScenarios + "validation/minimax-m2.5-fp8-4x-rtx-pro-6000-vllm-pool.yaml";
const std::string kTable = PLATEAU_SOURCE_DIR "/docs/measurements/h200-2026-11-30/serving_runs.csv";

std::string small(const TemporaryFolder& folder) {
  return folder.write("small.yaml",
                      "# Does it?\nbase: " + kScenarios +
                          "teach-kv-wall.yaml\nmeasured:\n  source: a test\n  note: why\n"
                          "  output_tok_per_s: 6000\n  ttft_mean: 9 s\n  points:\n"
                          "    - {set: {workload.concurrency: 8, workload.requests: 16}, "
                          "output_tok_per_s: 900}\n"
                          "    - {batch: 8, ctx_tokens: 200, step_ms: 9, gpu_w_mean: 400}\n");
}

}  // namespace

TEST_CASE("plateau validate compares a scenario's own measured block") {
  const TemporaryFolder folder;
  const std::string json_path = folder.path("v.json");
  const std::string svg_path = folder.path("v.svg");
  const auto done = run_plateau("validate " + small(folder) + " " + kPool + " --json " + json_path +
                                " --svg " + svg_path + " --bars kv_capacity_tokens=1");
  CHECK(done.err.empty());
  CHECK(done.code == 0);
  CHECK(done.out.find("8 figures of 2 scenarios") != std::string::npos);
  CHECK(done.out.find("concurrency 8, requests 16") != std::string::npos);
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE((line.size() <= 80 || line.find(".yaml") != std::string::npos), line);
  CHECK(done.out.find("399424     399472     +0.0 %") != std::string::npos);
  const auto json = nlohmann::json::parse(plateau::read_file(json_path));
  CHECK(json["schema"] == "plateau-validate/1");
  CHECK(json["files"].size() == 2);
  REQUIRE(json["rows"].size() == 4);
  CHECK(json["rows"][0]["source"] == "a test");
  CHECK(json["rows"][0]["note"] == "why");
  CHECK(json["rows"][1]["inputs"]["workload.concurrency"] == "8");
  CHECK(json["rows"][2]["inputs"]["batch"] == "8");
  for (const auto& row : json["rows"]) {
    for (const auto& [name, metric] : row["metrics"].items()) {
      const double measured = metric["measured"];
      const double predicted = metric["predicted"];
      CHECK(metric["error_pct"].get<double>() ==
            doctest::Approx(100 * (predicted / measured - 1)).epsilon(1e-9));
      if (metric["low"].is_null()) {
        CHECK(metric["inside"].is_null());
      } else {
        CHECK(metric["inside"] == (measured >= metric["low"] && measured <= metric["high"]));
      }
    }
  }
  CHECK(json["metrics"]["output_tok_per_s"]["n"] == 2);
  CHECK(plateau::read_file(svg_path).find("small.yaml line") != std::string::npos);
}

TEST_CASE("plateau validate takes --set and --seed under the points, and bars on any metric") {
  const TemporaryFolder folder;
  const std::string path = small(folder);
  const auto json_of = [](const std::string& words) {
    return nlohmann::json::parse(run_plateau("validate " + words + " --json -").out);
  };
  const auto plain = json_of(path);
  const auto set = json_of(path + " --set workload.requests=32 --seed 2");
  CHECK(plain["rows"][0]["metrics"] != set["rows"][0]["metrics"]);
  CHECK(plain["rows"][1]["metrics"] == set["rows"][1]["metrics"]);
  const auto missed = run_plateau("validate " + path + " --bars output_tok_per_s=0.001");
  CHECK(missed.code == 4);
  CHECK(missed.err.find("missed: output_tok_per_s") != std::string::npos);
}

TEST_CASE("plateau validate takes a folder, and passes over its scenarios without a block") {
  const TemporaryFolder folder;
  small(folder);
  folder.write("other.yaml", "# Is it passed over?\nbase: " + kScenarios + "teach-kv-wall.yaml\n");
  folder.write("notes.txt", "not a scenario\n");
  const auto done = run_plateau("validate " + folder.path(""));
  CHECK(done.code == 0);
  CHECK(done.out.find("5 figures of 1 scenario\n") != std::string::npos);
}

TEST_CASE("plateau validate refuses what it cannot compare, with a way out") {
  const TemporaryFolder folder;
  const auto refused = [](const std::string& words, const std::string& told) {
    const auto done = run_plateau("validate " + words);
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(done.err.find(told) != std::string::npos);
  };
  refused(kTable, "needs a scenario that they overlay");
  refused(small(folder) + " " + kTable, "not all of them are scenarios");
  refused(small(folder) + " --base " + kPool, "a scenario is its own base");
  refused(kScenarios + "teach-launch-bound-batch-1.yaml", "there is nothing to compare with");
  const TemporaryFolder empty;
  refused(empty.path(""), "no scenario here says what it measured");
  refused(folder.write("k.yaml", "base: " + kScenarios +
                                     "teach-kv-wall.yaml\nmeasured: {source: us, batch: 2, kernel: "
                                     "moe_expert, kernel_us: 3}\n"),
          "did you mean `moe_experts`?");
  // A value that a point sets is told where it stands.
  const std::string path = folder.write(
      "p.yaml", "base: " + kScenarios +
                    "teach-kv-wall.yaml\nmeasured:\n  source: us\n  points:\n    - {set: "
                    "{workload.concurrency: many}, seconds: 3}\n");
  refused(path, path + ":5:36: workload.concurrency: `many`");
}

TEST_CASE("a pool of an engine that is not modelled is compared and never run") {
  CHECK(run_plateau("validate " + kPool).code == 0);
  const auto run = run_plateau("run " + kPool);
  CHECK(run.code == 2);
  CHECK(run.err.find("not modelled yet: vLLM's scheduler") != std::string::npos);
}

TEST_CASE("plateau validate tells each warning once, and --strict refuses to compare with one") {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "w.yaml", "base: " + kScenarios +
                    "teach-kv-wall.yaml\nrouting: ~\nmeasured:\n  source: us\n  points:\n"
                    "    - {batch: 8, ctx_tokens: 200, step_ms: 9}\n"
                    "    - {batch: 9, ctx_tokens: 200, step_ms: 9}\n");
  const auto done = run_plateau("validate " + path);
  CHECK(done.code == 0);
  const std::size_t told = done.out.find("warning: routing: no law given");
  CHECK(told != std::string::npos);
  CHECK(done.out.find("routing: no law given", told + 20) == std::string::npos);
  CHECK(run_plateau("validate --quiet " + path).out.find("warning:") == std::string::npos);
  const auto strict = run_plateau("validate --strict " + path);
  CHECK(strict.code == 3);
  CHECK(strict.err.find("refused by --strict: routing: no law given") != std::string::npos);
}
