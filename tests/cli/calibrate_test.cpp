// `plateau calibrate --measured`: transcripts, and the tutorial's commands as they are printed.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"
#include "tests/support/sglang_lines.h"

using namespace plateau;
using namespace plateau::test;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;
// With a base that knows nothing of the trace.
const std::string kScenario =
    kRoot +
    "/scenarios/h200-torch-bf16.yaml --set "
    "calibration.profile=h200-sxm/sglang-0.5.14 --set calibration.board=~";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string trace_log(const TemporaryFolder& folder) {
  return folder.write("server.log",
                      sglang_log_of(read_trace(kRoot + "/docs/measurements/h200-2026-11-30/"
                                                       "trace_qwen3_c256_wall256.csv"),
                                    8, HostTime::shown));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Lines of the page's sh blocks.
std::vector<std::string> commands_of(const std::string& page) {
  std::vector<std::string> commands;
  std::istringstream lines(read_file(page));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```sh";
    } else if (inside && !line.empty()) {
      commands.push_back(line);
    }
  }
  return commands;
}

}  // namespace

TEST_CASE("a log and the measurement that was imported from it calibrate alike") {
  const TemporaryFolder folder;
  const std::string log = trace_log(folder);
  const std::string imported = folder.path("measured.json");
  REQUIRE(run_plateau("import " + log + " --out " + imported).code == 0);
  const std::string command = "calibrate --scenario " + kScenario + " --into " +
                              folder.path("profiles") + " --json - --name ";
  const Transcript direct = run_plateau(command + "direct --measured " + log);
  const Transcript read_back = run_plateau(command + "again --measured " + imported);
  CHECK(direct.code == 0);
  CHECK(replaced(read_back.out, "/again", "/direct") == direct.out);
}

TEST_CASE("--offset names a file inside a measurement that was imported before") {
  const TemporaryFolder folder;
  const std::string log = trace_log(folder);
  const std::string watts =
      folder.write("watts.txt", read_file(kRoot + "/scenarios/tutorial/nvidia-smi.txt"));
  const std::string imported = folder.path("measured.json");
  REQUIRE(run_plateau("import " + log + " " + watts + " --out " + imported).code == 0);
  const std::string command = "calibrate --scenario " + kScenario + " --into " +
                              folder.path("profiles") + " --name mine --offset " + watts +
                              "=1 --measured ";
  const Transcript direct = run_plateau(command + log + " " + watts);
  const Transcript read_back = run_plateau(command + imported);
  CHECK(read_back.code == direct.code);
  CHECK(read_back.out == direct.out);
  CHECK(read_back.err == direct.err);
  CHECK_FALSE(contains(read_back.err, "none of the measured files"));
}

TEST_CASE("plateau calibrate writes a profile and a scenario that runs with it") {
  const TemporaryFolder folder;
  const std::string log = trace_log(folder);
  const std::string out = folder.path("calibrated.yaml");
  const Transcript transcript = run_plateau(
      "calibrate --scenario " + kScenario + " --measured " + log + " --into " +
      folder.path("profiles") + " --name mine --out " + out + " --svg " + folder.path("r.svg"));
  CHECK(transcript.code == 0);
  CHECK(transcript.err.empty());
  CHECK(contains(transcript.out, "kernel_time"));
  CHECK(contains(transcript.out, "Held at the base"));
  CHECK(contains(transcript.out, "predicted without being fitted on"));
  const std::string profile = folder.path("profiles/h200-sxm/mine");
  CHECK(contains(transcript.out, "written: " + profile + "/meta.yaml"));
  CHECK(contains(read_file(profile + "/meta.yaml"), "kind: corrected"));
  CHECK(contains(read_file(folder.path("r.svg")), "decode_step_ms"));
  const Transcript run = run_plateau("run " + out + " --json - --quiet");
  CHECK(run.code == 0);
  const nlohmann::json report = nlohmann::json::parse(run.out);
  CHECK(contains(report["provenance"]["profile"].get<std::string>(), "profiles/h200-sxm/mine"));
  CHECK(run_plateau("step " + out + " --batch 8 --ctx 100").code == 0);
}

TEST_CASE("plateau calibrate --json - keeps the standard output for the JSON") {
  const TemporaryFolder folder;
  const std::string log = trace_log(folder);
  const Transcript transcript =
      run_plateau("calibrate --scenario " + kScenario + " --measured " + log + " --into " +
                  folder.path("profiles") + " --name mine --json -");
  CHECK(transcript.code == 0);
  const nlohmann::json json = nlohmann::json::parse(transcript.out);
  CHECK(json["schema"] == "plateau-calibrate/1");
  CHECK(json["parameters"].size() == 11);
  CHECK(json["parameters"][10]["name"] == "unexplained_memory");
  CHECK(json["parameters"][10]["unit"] == "B");
  CHECK_FALSE(json["parameters"][10]["held"].is_null());
  CHECK(json["parameters"][0]["name"] == "kernel_time");
  CHECK(json["parameters"][0]["held"].is_null());
  CHECK(json["parameters"][2]["standard_error"].is_null());
  CHECK(json["quantities"][0]["folds"].size() == 4);
  CHECK(json["residuals"].size() == json["quantities"][0]["samples"]);
  CHECK(json["files"][0]["file"] == log);
}

TEST_CASE("plateau calibrate refuses bad input and writes nothing") {
  const TemporaryFolder folder;
  const std::string one = folder.write("one.log", decode_line(1, 64, 6400, 1e6, 3000));
  const std::string into = folder.path("profiles");
  const auto calibrate = [&](const std::string& words) {
    return run_plateau("calibrate --scenario " + kScenario + " --into " + into + " " + words);
  };
  const Transcript single = calibrate("--measured " + one);
  CHECK(single.code == 2);
  CHECK(contains(single.err, one + ":1: no decode line tells the time of a step"));
  const std::string log = trace_log(folder);
  const Transcript late = calibrate("--measured " + log + " " +
                                    folder.write("power.csv",
                                                 "timestamp, index, power.draw [W]\n"
                                                 "2026/11/30 14:00:00.000, 0, 300.00 W\n"));
  CHECK(late.code == 2);
  CHECK(contains(late.err, "does not meet " + log + " in time"));
  CHECK(contains(late.err, "--offset"));
  CHECK(contains(calibrate("--measured " + log + " --offset nothing.csv=3").err,
                 "is none of the measured files"));
  CHECK(contains(calibrate("--measured " + log + " --name a/b").err, "is not a folder's name"));
  CHECK(contains(run_plateau("calibrate --measured " + log).err, "--scenario"));
  CHECK(contains(run_plateau("calibrate").err, "--scenario with --measured, or a folder"));
  CHECK_FALSE(std::filesystem::exists(into));
}

TEST_CASE("a contradiction is a refusal under --strict") {
  const TemporaryFolder folder;
  const std::string pool =
      "[2026-11-30 10:00:00 TP0] max_total_num_tokens=70000, chunked_prefill_size=8192, "
      "max_prefill_tokens=16384, max_running_requests=4096, context_len=40960, "
      "available_gpu_mem=10.00 GB\n";
  const std::string log = folder.write("s.log", pool + read_file(trace_log(folder)));
  const std::string into = folder.path("profiles");
  const std::string words =
      "calibrate --scenario " + kScenario + " --measured " + log + " --name mine --into " + into;
  const Transcript strict = run_plateau(words + " --strict");
  CHECK(strict.code == 3);
  CHECK(contains(strict.err, "a KV pool of 70000 tokens, the scenario has 65536"));
  CHECK_FALSE(std::filesystem::exists(into));
  const Transcript told = run_plateau(words);
  CHECK(told.code == 0);
  CHECK(contains(told.out, "Contradictions"));
}

TEST_CASE("a profile's folder that is missing, or of another device, is named") {
  const TemporaryFolder folder;
  const Transcript missing =
      run_plateau("step " + kScenario + " --batch 1 --ctx 1 --set calibration.profile=./nowhere");
  CHECK(missing.code == 2);
  CHECK(contains(missing.err, "there is no ./nowhere/meta.yaml"));
  const std::string log = trace_log(folder);
  CHECK(run_plateau("calibrate --scenario " + kRoot +
                    "/scenarios/h200-torch-bf16.yaml --measured " + log + " --name m --into " +
                    folder.path("p"))
            .code == 0);
  const Transcript other =
      run_plateau("step " + kRoot +
                  "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml --batch 1 --ctx 1 "
                  "--set calibration.profile=" +
                  folder.path("p/h200-sxm/m"));
  CHECK(other.code == 2);
  CHECK(contains(other.err, "is of h200-sxm, not of rtx-pro-6000-server"));
}

TEST_CASE("the tutorial's commands run as written, and find what its logs were made with") {
  const TemporaryFolder folder;
  std::string calibrated;
  std::string validated;
  std::string other_pool;
  int ran = 0;
  for (const std::string& line : commands_of(kRoot + "/docs/tutorial.md")) {
    const std::string command = replaced(line, "build/tutorial", folder.path("tutorial"));
    if (command.rfind("plateau ", 0) != 0) {
      if (command.rfind("mkdir", 0) == 0) REQUIRE(std::system(command.c_str()) == 0);
      continue;
    }
    const Transcript transcript = run_plateau(command.substr(8), "cd " + kRoot + " &&");
    INFO(command, "\n", transcript.err);
    REQUIRE(transcript.code == 0);
    ++ran;
    if (contains(command, "plateau calibrate")) calibrated = transcript.out;
    if (contains(command, "plateau validate")) validated = transcript.out;
    if (contains(command, "kv_pool_tokens=~")) other_pool = transcript.out;
  }
  CHECK(ran >= 6);
  CHECK(contains(calibrated, "1.2"));
  CHECK(contains(calibrated, "GiB per GPU are unexplained"));
  CHECK(contains(calibrated, "unexplained_memory   3.793 GiB"));
  CHECK(contains(other_pool, "367,680 tokens (derived)"));
  CHECK(contains(other_pool, "3.79 GiB a GPU of"));
  CHECK(contains(other_pool, "367,583 to 367,777 tokens)"));
  CHECK(contains(validated, "output_tok_per_s"));
  const std::string meta =
      read_file(folder.path("tutorial/profiles/rtx-pro-6000-server/box/meta.yaml"));
  const auto value = [&](const std::string& key) {
    const std::size_t at = meta.find(key + ": {value: ");
    REQUIRE(at != std::string::npos);
    return std::stod(meta.substr(at + key.size() + 10));
  };
  CHECK(value("kernel_time") == doctest::Approx(1.1).epsilon(0.02));
  CHECK(value("collective_time") == doctest::Approx(1.2).epsilon(0.02));
}
