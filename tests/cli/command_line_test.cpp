// Transcripts: what is typed, what is answered on which stream, and the exit code.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::test::kSmallScenario;
using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;
using plateau::test::Transcript;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every page of help fits into 80 columns") {
  for (const std::string command : {"", "run", "step", "sweep", "explain", "plan", "list",
                                    "calibrate", "validate", "import", "scenario"}) {
    std::istringstream lines(run_plateau(command + " --help").out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  }
}

TEST_CASE("plateau --version and --help end well and on the standard output") {
  const Transcript version = run_plateau("--version");
  CHECK(version.code == 0);
  CHECK(version.out.rfind("plateau ", 0) == 0);
  CHECK(version.err.empty());
  const Transcript help = run_plateau("--help");
  CHECK(help.code == 0);
  for (const char* command : {"run", "step", "list"})
    CHECK(contains(help.out, std::string("  ") + command));
  CHECK(contains(help.out, "Exit codes: 0 done, 1 our fault, 2 the input is wrong, 3 refused by"));
  const Transcript run = run_plateau("run --help");
  CHECK(run.code == 0);
  for (const char* option : {"--ladder", "--set", "--json", "--seed", "--strict", "--quiet"})
    CHECK(contains(run.out, option));
}

TEST_CASE("a command line that is wrong exits 2 with one line and a hint") {
  const auto refused = [](const std::string& words) {
    const Transcript transcript = run_plateau(words);
    CHECK(transcript.code == 2);
    CHECK(transcript.out.empty());
    return transcript.err;
  };
  CHECK(contains(refused(""), "plateau: which command? One of: run, step"));
  CHECK(refused("rnu x.yaml") == "plateau: there is no command `rnu` (did you mean `run`?)\n");
  CHECK(contains(refused("frobnicate"),
                 "plateau: there is no command `frobnicate` (one of: run, step"));
  CHECK(refused("run --jsn x s.yaml") ==
        "plateau run: there is no option `--jsn` (did you mean `--json`?)\n");
  CHECK(refused("run --stritc s.yaml") ==
        "plateau run: there is no option `--stritc` (did you mean `--strict`?)\n");
  CHECK(refused("run a.yaml b.yaml") == "plateau run: did not expect `b.yaml`\n");
  CHECK(refused("--seed 3 run a.yaml") ==
        "plateau: there is no option `--seed` (options come after the command)\n");
  CHECK(refused("run") == "plateau run: scenario is required\n");
  CHECK(contains(refused("run s.yaml --seed -1"), "plateau run: --seed: "));
  CHECK(contains(refused("run s.yaml --seed x"), "plateau run: "));
  CHECK(contains(refused("step s.yaml --ctx 10"), "plateau step: --batch is required"));
  CHECK(contains(refused("step s.yaml --ctx 10 --batch 0"), "plateau step: --batch: "));
  CHECK(contains(refused("list nonsense"), "plateau list: "));
}

TEST_CASE("plateau list names what there is") {
  const Transcript list = run_plateau("list");
  CHECK(list.code == 0);
  CHECK(list.err.empty());
  for (const char* name : {"glm-5-nvfp4", "h200-sxm", "h200-sxm/torch-2.11-bf16-2026-11-30",
                           "sglang", "simple", "two_level_lognormal"}) {
    CHECK_MESSAGE(contains(list.out, std::string("  ") + name), name);
  }
  const Transcript laws = run_plateau("list routing_laws");
  CHECK(laws.out ==
        "Routing laws (routing.law:)\n  uniform\n  two_level_lognormal\n  zipf\n  zipf_gumbel\n  "
        "power_law\n  replay\n");
  const auto json = nlohmann::json::parse(run_plateau("list --json -").out);
  CHECK(json["schema"] == "plateau-list/1");
  CHECK(json["schedulers"].size() >= 2);
}

TEST_CASE("PLATEAU_DATA decides where models and profiles are looked for") {
  const TemporaryFolder folder;
  const Transcript list = run_plateau("list devices", "PLATEAU_DATA=" + folder.path(""));
  CHECK(list.code == 0);
  CHECK(list.out == "Devices (hardware.device:)\n  none\n");
}

TEST_CASE("problems of a scenario are told one a line, all of them, and exit 2") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("s.yaml", "# Why?\nmodle: glm\nworkload: {concurrency: many}\n");
  const Transcript run = run_plateau("run " + path);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(contains(run.err, path + ":2:1: modle: unknown key (did you mean `model`?)\n"));
  CHECK(contains(run.err, path + ":3:25: workload.concurrency: `many` is not a whole number\n"));
  const Transcript absent = run_plateau("run nowhere.yaml");
  CHECK(absent.code == 2);
  CHECK(absent.err == "nowhere.yaml: cannot be read: No such file or directory\n");
  const Transcript set = run_plateau("run " PLATEAU_SOURCE_DIR
                                     "/scenarios/h200-torch-bf16.yaml --set workload.concurency=3");
  CHECK(set.code == 2);
  CHECK(set.err ==
        "command line: workload.concurency: unknown key (did you mean `concurrency`?)\n");
  const Transcript folder_run = run_plateau("run " + folder.path(""));
  CHECK(folder_run.code == 2);
  CHECK(contains(folder_run.err, "cannot be read"));
}

TEST_CASE("what is not modelled exits 2 by name") {
  const Transcript run =
      run_plateau("run " PLATEAU_SOURCE_DIR
                  "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml --set engine.kind=vllm");
  CHECK(run.code == 2);
  CHECK(contains(run.err,
                 "command line: engine.kind: not modelled yet: vLLM's scheduler (modelled: sglang, "
                 "simple)\n"));
}

TEST_CASE("plateau run reports as text and as JSON, the same bytes each time") {
  const std::string scenario =
      "run " PLATEAU_SOURCE_DIR "/scenarios/teach-launch-bound-batch-1.yaml";
  const Transcript text = run_plateau(scenario);
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK_FALSE(text.out.empty());
  const Transcript json = run_plateau(scenario + " --json -");
  CHECK(json.code == 0);
  const auto report = nlohmann::json::parse(json.out);
  CHECK(report["schema"] == "plateau-report/1");
  CHECK(report["throughput"]["output_tok_per_s"].get<double>() > 0);
  CHECK(run_plateau(scenario + " --json -").out == json.out);
  const TemporaryFolder folder;
  const Transcript both = run_plateau(scenario + " --json " + folder.path("r.json"));
  CHECK(both.out == text.out);
  CHECK(plateau::read_file(folder.path("r.json")) == json.out);
  const Transcript lost = run_plateau(scenario + " --json " + folder.path("no/such/r.json"));
  CHECK(lost.code == 2);
  CHECK(contains(lost.err, folder.path("no/such/r.json")));
}

TEST_CASE("plateau step prices one step") {
  const Transcript step = run_plateau(
      "step " PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml --batch 256 --ctx 256 --json -");
  CHECK(step.code == 0);
  CHECK(nlohmann::json::parse(step.out)["schema"] == "plateau-step/1");
  const Transcript prefill = run_plateau(
      "step " PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml --batch 4 --ctx 256 --prefill");
  CHECK(prefill.code == 0);
  CHECK_FALSE(prefill.out.empty());
}

TEST_CASE("--strict refuses an answer with warnings and says which") {
  const Transcript run = run_plateau(
      "run " PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml --strict --set routing.law=~");
  CHECK(run.code == 3);
  CHECK(run.out.empty());
  CHECK(contains(run.err, "refused by --strict: routing: no law given"));
}

TEST_CASE("--quiet leaves the warnings out of the page and in the JSON") {
  const std::string run =
      "run " PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml --set routing.law=~";
  CHECK(contains(run_plateau(run).out, "routing: no law given"));
  CHECK_FALSE(contains(run_plateau(run + " --quiet").out, "routing: no law given"));
  CHECK(contains(run_plateau(run + " --quiet --json -").out, "routing: no law given"));
}

TEST_CASE("a pool that holds no page or no request is refused where it was written") {
  const std::string run =
      "run " PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml --set engine.kv_pool_tokens=";
  const Transcript page = run_plateau(run + "1");
  CHECK(page.code == 2);
  CHECK(page.err ==
        "command line: engine.kv_pool_tokens: a pool of 1 tokens holds no whole page of 64 (give a "
        "larger pool)\n");
  const Transcript request = run_plateau(run + "100");
  CHECK(request.code == 2);
  CHECK(contains(request.err, "command line: engine.kv_pool_tokens: a pool of "));
}

TEST_CASE("a result that cannot be written is told") {
  const Transcript full = run_plateau("list --json /dev/full");
  CHECK(full.code == 2);
  CHECK(contains(full.err, "/dev/full: cannot be written"));
}

TEST_CASE("plateau calibrate names the table that is missing") {
  const TemporaryFolder folder;
  const Transcript run = run_plateau(
      "calibrate " + folder.path("tables") +
      " --system s --engine e --nccl n --device d --source s --licence l --date 2026 --into " +
      folder.path(""));
  CHECK(run.code == 2);
  CHECK(contains(run.err, "device.yaml: cannot be read"));
  CHECK(contains(run_plateau("calibrate x").err, "plateau calibrate: --"));
}
