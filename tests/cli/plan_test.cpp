// `plateau plan` as typed: an answer, no answer, and questions that make no sense.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::test::run_plateau;
using plateau::test::Transcript;

namespace {

const std::string kPlan = "plan " PLATEAU_SOURCE_DIR
                          "/scenarios/qwen3-30b-a3b-1x-h200.yaml --set workload.requests=40 --set "
                          "workload.concurrency=20 --set 'workload.output_length=16 tokens' ";
const std::string kVary = "--vary engine.max_running_requests=5,10,20 ";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("plan names the best point and the command that launches it") {
  const Transcript plan = run_plateau(kPlan + kVary + "--json -");
  CHECK(plan.code == 0);
  const auto json = nlohmann::json::parse(plan.out);
  CHECK(json["schema"] == "plateau-plan/1");
  CHECK(json["points"] == 3);
  CHECK(json["search"]["method"] == "exhaustive");
  CHECK(json["best"][0]["set"]["engine.max_running_requests"] == "20");
  CHECK(contains(json["best"][0]["launch_command"], "--max-running-requests 20"));
  CHECK(json["best"][0]["figures"]["output_tok_per_s"] >
        json["best"][1]["figures"]["output_tok_per_s"]);
  const Transcript text = run_plateau(kPlan + kVary);
  CHECK(text.code == 0);
  CHECK(contains(text.out, "1. engine.max_running_requests=20"));
  CHECK(contains(text.out, "sglang.launch_server"));
}

TEST_CASE("limits that no point meets exit 4 and say which one and by how much") {
  const Transcript plan = run_plateau(kPlan + kVary + "--limit 'tpot_p50 <= 1 us'");
  CHECK(plan.code == 4);
  CHECK(contains(plan.out, "no point keeps the limits"));
  CHECK(contains(plan.out, "excluded by tpot_p50 <= 1 us: the closest point has tpot_p50_ms"));
  CHECK(contains(plan.out, " off"));
}

TEST_CASE("limits that make no sense exit 2") {
  const auto refused = [](const std::string& words) {
    const Transcript plan = run_plateau(kPlan + kVary + words);
    CHECK(plan.code == 2);
    CHECK(plan.out.empty());
    return plan.err;
  };
  CHECK(contains(refused("--limit 'tpot_p50 <= 10'"), "`10` has no unit"));
  CHECK(contains(refused("--limit ''"), "is no limit"));
  CHECK(contains(refused("--limit 'gpus<=1' --limit 'gpus>=2'"), "contradicts"));
  CHECK(contains(refused("--set 'limits={}'"), "holds no limit"));
  CHECK(contains(refused("--maximise j_per_token"), "one of: tok_per_s"));
  CHECK(contains(refused("--vary engine.max_runing_requests=1"), "did you mean"));
}

TEST_CASE("points with the very same figures are one answer") {
  const Transcript plan = run_plateau(kPlan +
                                      "--vary engine.max_running_requests=5,20,40,60 "
                                      "--vary engine.max_prefill_tokens=20000,30000 --json -");
  CHECK(plan.code == 0);
  const auto json = nlohmann::json::parse(plan.out);
  REQUIRE(json["best"].size() == 3);
  CHECK(json["best"][0]["same_figures_with"]["engine.max_prefill_tokens"] == "30000");
  CHECK(json["best"][1]["set"]["engine.max_running_requests"] == "40");  // graphs end at 24, not 20
  CHECK(json["best"][1]["same_figures_with"]["engine.max_running_requests"] == "60");
}

TEST_CASE("plan writes a page, keeps to 80 columns, and --strict refuses answers with warnings") {
  const plateau::test::TemporaryFolder folder;
  const std::string page = folder.path("plan.html");
  const std::string words = kPlan + kVary + "--set engine.num_continuous_decode_steps=8 ";
  const Transcript plan = run_plateau(words + "--html " + page);
  CHECK(plan.code == 0);
  CHECK(contains(plateau::read_file(page), "\"kept\""));
  CHECK(contains(plan.out, "Warning: "));
  std::istringstream lines(plan.out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  const Transcript strict = run_plateau(words + "--strict");
  CHECK(strict.code == 3);
  CHECK(strict.out.empty());
  CHECK(contains(strict.err, "refused by --strict: "));
}

TEST_CASE("plan says which answers are within noise of the first") {
  const Transcript plan =
      run_plateau(kPlan +
                  "--vary engine.max_running_requests=10,20 --vary engine.page_size=1,16 "
                  "--intervals 5 --json -");
  CHECK(plan.code == 0);
  const auto json = nlohmann::json::parse(plan.out);
  CHECK(json["best"][0]["objective_interval"][0] < json["best"][0]["objective_interval"][1]);
  CHECK(json["best"][1]["within_noise_of_best"] == true);   // other pages
  CHECK(json["best"][2]["within_noise_of_best"] == false);  // half the batch
}

TEST_CASE("plan finds the highest rate of a trace and the smallest deployment for it") {
  const std::string trace = "plan " PLATEAU_SOURCE_DIR
                            "/scenarios/azure-conversation-1x-h200.yaml --set "
                            "workload.requests=200 --set 'limits.tpot=80 ms' --json - ";
  const auto rate = nlohmann::json::parse(
      run_plateau(trace + "--maximise request_rate --vary engine.max_running_requests=256").out);
  REQUIRE(rate["best"].size() == 1);
  CHECK(rate["best"][0]["set"].contains("workload.rate_scale"));
  const double scale = std::stod(rate["best"][0]["set"]["workload.rate_scale"].get<std::string>());
  // Three times what one sustains needs more than one, and three are enough.
  const auto fleet =
      nlohmann::json::parse(run_plateau(trace +
                                        "--minimise gpus --vary parallel.replicas=1..6:6 --set "
                                        "workload.rate_scale=" +
                                        std::to_string(2.5 * scale))
                                .out);
  REQUIRE_FALSE(fleet["best"].empty());
  const int gpus = fleet["best"][0]["figures"]["gpus"];
  CHECK(gpus > 1);
  CHECK(gpus <= 4);
}

TEST_CASE("plan finds the highest rate that a deployment sustains") {
  const std::string words =
      kPlan + "--set workload.requests=300 --vary engine.max_running_requests=4,16 ";
  const Transcript plan = run_plateau(words + "--maximise request_rate --json -");
  CHECK(plan.code == 0);
  const auto json = nlohmann::json::parse(plan.out);
  const double rate = json["best"][0]["figures"]["request_rate"];
  CHECK(json["best"][0]["figures"]["queue_share"] <= 0.1);
  CHECK(rate > json["best"][1]["figures"]["request_rate"].get<double>());
  // Well above it is not sustained, well below it is; within a few percent one draw of arrivals
  // decides.
  const std::string open =
      "plan " PLATEAU_SOURCE_DIR
      "/scenarios/qwen3-30b-a3b-1x-h200.yaml --set workload.requests=300 --set "
      "workload.client=poisson --set workload.concurrency=~ --set "
      "'workload.output_length=16 tokens' --vary "
      "engine.max_running_requests=16 --set 'workload.request_rate=";
  CHECK(run_plateau(open + std::to_string(rate * 1.2) + " requests/s'").code == 4);
  CHECK(run_plateau(open + std::to_string(rate * 0.8) + " requests/s'").code == 0);
}

TEST_CASE("weights logged at one TP do not make a model fit at another") {
  const Transcript plan =
      run_plateau("plan " PLATEAU_SOURCE_DIR
                  "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml --set workload.requests=64 "
                  "--vary parallel.tp=4,8 --vary parallel.replicas=1,2 --json -");
  CHECK(plan.code == 0);
  const auto json = nlohmann::json::parse(plan.out);
  CHECK(json["infeasible"] == 2);
  for (const auto& best : json["best"]) CHECK(best["set"]["parallel.tp"] == "8");
}
