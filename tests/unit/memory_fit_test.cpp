// Unexplained memory against SGLang logs written by the engine's own rule with a known one.
#include "sim/calibrate/memory_fit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "calibration/import/import.h"
#include "models/memory.h"
#include "sim/deployment/remembered_costs.h"
#include "sim/interval/noisy_costs.h"
#include "sim/report/kv_text.h"
#include "sim/scenario/read_scenario.h"
#include "tests/support/import_support.h"
#include "tests/support/scenario_text.h"
#include "tests/support/sglang_lines.h"
#include "tests/support/vllm_lines.h"

using namespace plateau;
using namespace plateau::test;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;
constexpr int kPage = 64;

// Qwen3-30B-A3B on one H200 under SGLang, its pool to be derived.
Scenario scenario_with(std::vector<std::string> sets) {
  ScenarioOptions options;
  options.data_dir = kRoot;
  options.sets = {"calibration.profile=h200-sxm/sglang-0.5.14",
                  "calibration.board=~",
                  "engine.kind=sglang",
                  "engine.version=2026-02",
                  "engine.kv_pool_tokens=~",
                  "engine.mem_fraction_static=0.92"};
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  return read_scenario(kRoot + "/scenarios/h200-torch-bf16.yaml", options);
}

struct Server {
  double free_gib = 137.9;
  double weights_gib = 57.07;
  double unexplained_gib = 3.25;
  double fraction = 0.92;
  std::vector<double> later_ranks = {};  // free after weights, beside TP0's
};

std::int64_t pool_of(const Server& server) {
  Scenario scenario = scenario_with({});
  scenario.engine.free_memory_gib = server.free_gib;
  scenario.engine.weights_gib = server.weights_gib;
  scenario.engine.unexplained_gib = server.unexplained_gib;
  scenario.engine.mem_fraction_static = server.fraction;
  return Deployment(scenario, kRoot).engine().pool.tokens;
}

std::string line_of(double at_s, const std::string& rank, const std::string& text) {
  return "[" + log_time(at_s) + " " + rank + "] " + text + "\n";
}

std::string gib(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f GB", value);
  return text;
}

std::string memory_lines(const Server& server) {
  std::string log = line_of(0, "TP0", "Load weight begin. avail mem=" + gib(server.free_gib));
  std::vector<double> after = {server.free_gib - server.weights_gib};
  after.insert(after.end(), server.later_ranks.begin(), server.later_ranks.end());
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    log += line_of(1, "TP" + std::to_string(rank),
                   "Load weight end. elapsed=9.00 s, type=X, dtype=torch.bfloat16, avail mem=" +
                       gib(after[rank]) + ", mem usage=" + gib(server.weights_gib) + ".");
  }
  return log;
}

std::string pool_line(std::int64_t tokens) {
  return line_of(2, "TP0",
                 "max_total_num_tokens=" + std::to_string(tokens) +
                     ", chunked_prefill_size=8192, max_prefill_tokens=16384, "
                     "max_running_requests=4096, context_len=40960, available_gpu_mem=10.00 GB");
}

std::string arguments_line(double fraction, const std::string& more = "") {
  char text[80];
  std::snprintf(text, sizeof text, "server_args=ServerArgs(model_path='q', mem_fraction_static=%g",
                fraction);
  return line_of(0, "TP0", text + more + ")");
}

// Decode lines, without which no log calibrates.
std::string decode_lines() {
  std::string log = prefill_line(3, 64, 64 * 200, 0);
  for (int i = 1; i <= 10; ++i)
    log += decode_line(3 + 0.4 * i, 64, 64 * (200 + 40.0 * i), 1e6, 6400);
  return log;
}

std::string log_of(const Server& server) {
  return arguments_line(server.fraction) + memory_lines(server) + pool_line(pool_of(server)) +
         decode_lines();
}

CalibrationResult fit(const std::string& log, const std::vector<std::string>& sets = {}) {
  return calibrate(scenario_with(sets), imports::import_text(log), {kRoot, {}, {}});
}

const Parameter& memory_of(const CalibrationResult& result) {
  const Parameter* found = result.find(Correction::unexplained_memory);
  REQUIRE(found != nullptr);
  return *found;
}

// Two logs in files of their own.
CalibrationResult fit_two(const Server& a, const Server& b) {
  const TemporaryFolder folder;
  return calibrate(scenario_with({}),
                   imports::import_files(
                       {{folder.write("a.log", log_of(a)), folder.write("b.log", log_of(b))}, {}}),
                   {kRoot, {}, {}});
}

std::string held(const std::string& log, const std::vector<std::string>& sets = {}) {
  const CalibrationResult result = fit(log, sets);
  CHECK(memory_of(result).value == 0);
  CHECK_FALSE(result.corrections()[Correction::unexplained_memory].has_value());
  return memory_of(result).held_why;
}

}  // namespace

TEST_CASE("unexplained memory of a log at 0.92 predicts the pool at 0.85 within a page") {
  const Server server;
  const CalibrationResult result = fit(log_of(server));
  const Parameter& memory = memory_of(result);
  CHECK(memory.held_why.empty());
  CHECK(memory.samples == 1);
  CHECK(memory.base == 0);
  const double page_gib = kPage * 98304 / kGiB;  // 48 layers of 4 KV heads of 128, bf16
  CHECK(std::abs(memory.value / kGiB - 3.25) <= 0.51 * page_gib);
  // Two decimals, 1 and 0.08 of them, and a page.
  CHECK(memory.error / kGiB ==
        doctest::Approx(std::sqrt((1e-4 * (1 + 0.08 * 0.08) + page_gib * page_gib) / 12)));

  const TemporaryFolder folder;
  folder.write("p/meta.yaml", corrected_meta_yaml(result, result.base));
  const auto deployed = [&](std::vector<std::string> sets) {
    sets.insert(sets.end(), {"calibration.profile=" + folder.path("p"),
                             "engine.free_memory=137.9 GiB", "engine.weights=57.07 GiB"});
    return Deployment(scenario_with(sets), kRoot);
  };
  const Deployment other = deployed({"engine.mem_fraction_static=0.85"});
  CHECK(other.profile().unexplained_memory()->value == memory.value);  // as written, to the bit
  CHECK(other.engine().kv_source == "derived");
  CHECK(std::abs(other.engine().pool.tokens - pool_of({137.9, 57.07, 3.25, 0.85, {}})) <= kPage);
  CHECK(deployed({}).engine().pool.tokens == pool_of(server));  // at its own setting: exact
  // The scenario's own goes before the profile's, a given pool before both.
  CHECK(deployed({"engine.unexplained_memory=0 GiB"}).engine().pool.tokens ==
        pool_of({137.9, 57.07, 0, 0.92, {}}));
  CHECK(deployed({"engine.kv_pool_tokens=65536"}).engine().pool.tokens == 65536);
}

TEST_CASE("profiles that wrap another hand its unexplained memory on, as sweeps and bands need") {
  const CalibrationResult result = fit(log_of({}));
  const TemporaryFolder folder;
  folder.write("p/meta.yaml", corrected_meta_yaml(result, result.base));
  const Scenario scenario =
      scenario_with({"calibration.profile=" + folder.path("p"), "engine.free_memory=137.9 GiB",
                     "engine.weights=57.07 GiB"});
  const std::shared_ptr<const Profile> profile = load_profile_of(scenario, kRoot);
  const auto remembered = std::make_shared<RememberedCosts>(profile);
  for (const std::shared_ptr<const Profile>& wrapper :
       {std::shared_ptr<const Profile>(remembered),
        std::shared_ptr<const Profile>(std::make_shared<NoisyCosts>(remembered, 1, 2))}) {
    CHECK(Deployment(scenario, wrapper, make_routing(scenario)).engine().pool.tokens ==
          pool_of({}));
  }
}

TEST_CASE("free memory and weights of any decimals lie within three errors of the truth") {
  int inside = 0;
  for (int i = 0; i < 8; ++i) {
    const Server server{137.9 + 0.00131 * i, 57.07 - 0.0017 * i, 1.5, 0.88, {}};
    const Parameter memory = memory_of(fit(log_of(server)));
    CHECK(std::abs(memory.value / kGiB - 1.5) <= 3 * memory.error / kGiB);
    inside += std::abs(memory.value / kGiB - 1.5) <= memory.error / kGiB;
  }
  CHECK(inside >= 3);
}

TEST_CASE("of several ranks the fullest sets the pool, and their spread widens the error") {
  Server server{137.9, 57.07, 3.25, 0.92, {80.71, 80.77}};  // TP0 keeps 80.83
  Server fullest = server;
  fullest.weights_gib = 137.9 - 80.71;
  const std::string log =
      arguments_line(0.92) + memory_lines(server) + pool_line(pool_of(fullest)) + decode_lines();
  const CalibrationResult result = fit(log);
  CHECK(memory_of(result).value / kGiB == doctest::Approx(3.25).epsilon(0.002));
  CHECK(memory_of(result).error / kGiB == doctest::Approx(0.06).epsilon(0.01));
  bool written = false;
  for (const auto& [key, value] : result.engine_keys) {
    if (key == "weights") written = value == "57.19 GiB";
  }
  CHECK(written);
}

TEST_CASE("logs at two settings give one value, or are told to disagree") {
  const Server server;
  Server lower = server;
  lower.fraction = 0.85;
  const CalibrationResult one = fit_two(server, lower);
  CHECK(memory_of(one).samples == 2);
  CHECK(memory_of(one).value / kGiB == doctest::Approx(3.25).epsilon(0.002));
  for (const std::string& line : one.contradictions)
    CHECK(line.find("one value does not hold") == std::string::npos);

  lower.unexplained_gib = 2.25;
  const CalibrationResult two = fit_two(server, lower);
  CHECK(memory_of(two).value / kGiB == doctest::Approx(2.75).epsilon(0.002));
  CHECK(memory_of(two).error / kGiB == doctest::Approx(0.5).epsilon(0.01));
  CHECK(two.contradictions.back().find("a.log:4: 3.25 GiB per GPU are unexplained, 2.25 in ") !=
        std::string::npos);
}

TEST_CASE("memory that a log does not tell, or that memory did not set, is held with the reason") {
  const Server server;
  const std::int64_t tokens = pool_of(server);
  CHECK(held(pool_line(tokens) + decode_lines()) ==
        "the log does not tell free memory before the weights and the weights");
  CHECK(held(memory_lines(server) + decode_lines()) == "the log does not tell the KV pool");
  CHECK(held(arguments_line(0.92, ", max_total_tokens=" + std::to_string(tokens + 5)) +
             memory_lines(server) + pool_line(tokens) + decode_lines()) ==
        "max_total_tokens cut the pool, not memory");
  CHECK(held(memory_lines(server) + pool_line(2 * tokens) + decode_lines())
            .find("GiB larger than the rule allows") != std::string::npos);
  CHECK(held(memory_lines(server) +
             line_of(2, "TP0",
                     "KV Cache is allocated. #tokens: " + std::to_string(tokens) +
                         ", K size: 10.00 GB, V size: 10.00 GB") +
             pool_line(tokens) + decode_lines())
            .find("the log's pool takes 20.00 GiB, that many tokens of the scenario ") == 0);
  CHECK(held(log_of(server), {"engine.kv_pool_memory=20 GiB"}) ==
        "engine.kv_pool_memory replaces the rule");
  CHECK(held(log_of(server), {"engine.kind=simple", "engine.version=~",
                              "engine.mem_fraction_static=~", "engine.kv_pool_tokens=65536"}) ==
        "this engine sizes no pool by a rule");
}

TEST_CASE("a vLLM log states what is left for the KV cache: nothing is identified") {
  std::string log =
      "INFO 03-17 15:38:01 [gpu_worker.py:298] Model loading took 57.07 GiB memory and 9.0 s\n"
      "INFO 03-17 15:38:02 [gpu_worker.py:298] Available KV cache memory: 60.00 GiB\n"
      "INFO 03-17 15:38:03 [kv_cache_utils.py:849] GPU KV cache size: 655,360 tokens\n";
  log += vllm_iteration_lines();
  CHECK(held(log) ==
        "a vLLM log states what is left for the KV cache, so there is no rule to correct");
}

TEST_CASE("the report's KV line tells unexplained memory and whether it was calibrated") {
  KvReport kv;
  kv.capacity_tokens = 495488;
  kv.source = "derived";
  CHECK(kv_text(kv).find("unexplained") == std::string::npos);
  kv.told_unexplained_bytes = 3.79 * kGiB;
  kv.told_unexplained_source = "calibrated";
  CHECK(kv_text(kv).find("; the memory rule counts 3.79 GiB a GPU of unexplained memory "
                         "(calibrated)") != std::string::npos);
  kv.derived_tokens_range = Interval{495390, 495586};
  CHECK(kv_text(kv).find("(calibrated: 495,390 to 495,586 tokens)") != std::string::npos);
}

TEST_CASE("a pool that is taken away takes the source that its file named with it") {
  const Scenario scenario = scenario_with({"engine.kv_source=log"});
  CHECK(scenario.engine.kv_source == "derived");
  CHECK_FALSE(scenario.engine.kv_pool_tokens.has_value());
}
