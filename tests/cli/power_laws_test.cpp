// Power from measured runs, from limits alone, and bad measured files, as a user meets them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;

namespace {

const std::string kScenarios = PLATEAU_SOURCE_DIR "/scenarios/";
const std::string kBase = " --base " + kScenarios + "h200-torch-bf16.yaml ";

}  // namespace

TEST_CASE(
    "calibrate --power-runs leaves each batch out, and the scenario draws the curve's watts") {
  const TemporaryFolder folder;
  const std::string runs = folder.write(
      "runs.csv", "gpu,batch,power_w\nh200,8,430\nh200,32,520\nh200,128,560\nh200,512,500\n");
  const std::string json_path = folder.path("runs.json");
  const auto done = run_plateau("calibrate --power-runs " + runs + " --json " + json_path);
  CHECK(done.code == 0);
  CHECK(done.out.find("1 configurations, mean") != std::string::npos);
  const auto json = nlohmann::json::parse(plateau::read_file(json_path));
  CHECK(json["schema"] == "plateau-power-runs/1");
  CHECK(json["series"][0]["left_out"].size() == 4);
  const auto run = run_plateau("run " + kScenarios +
                               "h200-torch-bf16.yaml --set workload.concurrency=128 --set "
                               "workload.requests=256 --set calibration.power_runs=" +
                               runs + " --json -");
  REQUIRE(run.code == 0);
  const auto report = nlohmann::json::parse(run.out);
  CHECK(report["power"]["gpu_w_mean"].get<double>() > 480);
  CHECK(report["power"]["gpu_w_mean"].get<double>() < 580);
}

TEST_CASE("calibrate --cap-sweep prints a clock block") {
  const TemporaryFolder folder;
  std::string text = "workload,power_cap_w,power_w,sm_mhz,throughput\n";
  for (const char* name : {"a", "b"}) {
    text += std::string(name) + ",600,500,2800,1000\n" + name + ",400,400,2300,960\n" + name +
            ",300,300,1500,800\n";
  }
  const auto done = run_plateau("calibrate --cap-sweep " + folder.write("caps.csv", text));
  CHECK(done.code == 0);
  CHECK(done.out.find("clock:") == 0);
  CHECK(done.out.find("law of: b") != std::string::npos);
}

TEST_CASE("a GPU without a power table prints its 20 % band, and --strict refuses it") {
  const std::string scenario = "run " + kScenarios + "qwen3-30b-a3b-1x-h100.yaml";
  const auto done = run_plateau(scenario);
  CHECK(done.code == 0);
  CHECK(done.out.find("within 20 %") != std::string::npos);
  const auto json = run_plateau(scenario + " --quiet --json -");
  const auto band = nlohmann::json::parse(json.out)["power"]["band"].get<double>();
  CHECK(band >= 0.195);
  CHECK(band <= 0.21);
  CHECK(run_plateau(scenario + " --strict").code == 3);
  const auto asked = run_plateau("run " + kScenarios +
                                 "h200-torch-bf16.yaml --set calibration.power=limit --strict");
  CHECK(asked.code == 3);
}

TEST_CASE("a power limit is a what-if with its throughput and joules per token") {
  const auto joules = [](const std::string& sets) {
    const auto done =
        run_plateau("run " + kScenarios + "minimax-m2.5-nvfp4-2x-rtx-pro-6000-caps.yaml" + sets +
                    " --quiet --json -");
    const auto json = nlohmann::json::parse(done.out);
    return std::pair(json["throughput"]["output_tok_per_s"].get<double>(),
                     json["energy"]["j_per_output_token"].get<double>());
  };
  const auto full = joules("");
  const auto capped = joules(" --set 'hardware.power_limit=300 W'");
  const auto slow = joules(" --set 'hardware.sm_clock=1500 MHz'");
  CHECK(capped.first < full.first);
  CHECK(capped.second < full.second);
  CHECK(slow.first < full.first);
  CHECK(slow.second < full.second);
}

TEST_CASE("validate names and counts what it cannot use, and exits with 2") {
  const TemporaryFolder folder;
  const std::string bad =
      folder.write("bad.csv",
                   "model,batch,ctx_tokens,cuda_graph,step_ms,power_w,volts\n"
                   "qwen3-30b-a3b,8,256,1,[N/A],440,1\nqwen3-30b-a3b,8,256,1,17,-3,1\n"
                   "qwen3-30b-a3b,8,256,1,0,440,1\nqwen3-30b-a3b,8,256,1,17,440,1\n");
  const auto done = run_plateau("validate " + bad + kBase);
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK(done.err.find("volts") != std::string::npos);
  const std::string rows =
      folder.write("rows.csv",
                   "model,batch,ctx_tokens,cuda_graph,step_ms,power_w\n"
                   "qwen3-30b-a3b,8,256,1,[N/A],440\nqwen3-30b-a3b,8,256,1,17,-3\n"
                   "qwen3-30b-a3b,8,256,1,0,440\nqwen3-30b-a3b,8,256,1,17,440\n"
                   "glm-5-nvfp4,8,256,1,17,440\nno-such-model,8,256,1,17,440\n");
  const auto cells = run_plateau("validate " + rows + kBase);
  CHECK(cells.code == 2);
  for (const char* part :
       {":2:", "[N/A]", ":3:", "-3", ":4:", ":6:", ":7:", "no-such-model", "in 5 of 6 rows"}) {
    CHECK_MESSAGE(cells.err.find(part) != std::string::npos, part << " in " << cells.err);
  }
}
