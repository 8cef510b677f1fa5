#include "sim/scenario/read_scenario.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/scenario_text.h"

using plateau::EngineConfig;
using plateau::InputError;
using plateau::Interconnect;
using plateau::LengthConfig;
using plateau::RoutingConfig;
using plateau::Scenario;
using plateau::test::kSmallScenario;
using plateau::test::small_options;
using plateau::test::TemporaryFolder;

namespace {

Scenario read(const std::string& text, std::vector<std::string> sets = {}) {
  const TemporaryFolder folder;
  return read_scenario(folder.write("s.yaml", text), small_options(std::move(sets)));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The small scenario with one change, and what is said about it, files without their folder.
std::string problems_of(const std::string& text, std::vector<std::string> sets = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.write("s.yaml", text);
  try {
    read_scenario(path, small_options(std::move(sets)));
  } catch (const InputError& error) {
    std::string all;
    for (plateau::Problem problem : error.problems()) {
      if (problem.file == path) problem.file = "s.yaml";
      all += to_string(problem) + "\n";
    }
    return all;
  }
  return "";
}

std::string problems_with(const std::string& from, const std::string& to) {
  return problems_of(replaced(kSmallScenario, from, to));
}

std::string problems_of_set(const std::string& assignment) {
  return problems_of(kSmallScenario, {assignment});
}

}  // namespace

TEST_CASE("a small scenario is read whole") {
  const Scenario s = read(kSmallScenario);
  CHECK(s.question == "Does it read?");
  CHECK(s.model.layers == 78);
  CHECK(s.hardware.device == "rtx-pro-6000-server");
  CHECK(s.hardware.count == 8);
  CHECK(s.hardware.interconnect == Interconnect::pcie);
  CHECK(s.parallel.tp == 8);
  CHECK(s.engine.kind == EngineConfig::Kind::sglang);
  CHECK(s.engine.version == "2026-02");
  CHECK(s.engine.kv_source == "derived");
  CHECK(s.workload.concurrency == 2048);
  CHECK(s.workload.requests == 6144);
  CHECK(s.workload.requests_per_client == 3);
  CHECK(s.workload.input.tokens == 128);
  CHECK(s.workload.input.law == LengthConfig::Law::fixed);
  CHECK(s.workload.ignore_eos);
  CHECK(s.routing.law == RoutingConfig::Law::uniform);
  CHECK_FALSE(s.routing.assumed);
  CHECK(s.calibration.profile == "rtx-pro-6000-server/sglang-0.5.14");
  CHECK(s.calibration.attention == "table");
  CHECK(s.seed == 1);
  CHECK(s.warnings.empty());
}

TEST_CASE("engine flags keep SGLang's names and take units where they are no flags of it") {
  const Scenario s = read(replaced(kSmallScenario, "  version: 2026-02", R"(  version: 0.5.8
  kv_pool_tokens: 495488 tokens
  kv_source: log
  kv_cache_dtype: fp8_e4m3
  mem_fraction_static: 0.92
  free_memory: 93.89 GiB
  weights: 57.06 GiB
  unexplained_memory: 3.79 GiB
  page_size: 64
  chunked_prefill_size: -1
  max_prefill_tokens: 8192
  max_running_requests: 2048
  cuda_graph_bs: [1, 2, 4]
  disable_cuda_graph: true
  disable_radix_cache: true
  schedule_conservativeness: 0.3
  schedule_policy: lpm)"));
  CHECK(s.engine.kv_pool_tokens == 495488);
  CHECK(s.engine.kv_source == "log");
  CHECK(s.engine.free_memory_gib == doctest::Approx(93.89).epsilon(1e-12));
  CHECK(s.engine.weights_gib == doctest::Approx(57.06).epsilon(1e-12));
  CHECK(s.engine.unexplained_gib == doctest::Approx(3.79).epsilon(1e-12));
  CHECK(s.engine.chunked_prefill_size == -1);
  CHECK(s.engine.max_prefill_tokens == 8192);
  CHECK(s.engine.cuda_graph_bs == std::vector<int>{1, 2, 4});
  CHECK(s.engine.disable_radix_cache);
  CHECK(s.engine.schedule_conservativeness == 0.3);
  REQUIRE(s.warnings.size() == 1);
  CHECK(s.warnings[0].find("falls back from lpm to fcfs") != std::string::npos);
}

TEST_CASE("lengths may follow a law") {
  const Scenario s =
      read(replaced(kSmallScenario, "output_length: 128 tokens",
                    "output_length: {law: sglang_uniform, tokens: 128 tokens, ratio: 0.5}"));
  CHECK(s.workload.output.law == LengthConfig::Law::sglang_uniform);
  CHECK(s.workload.output.tokens == 128);
  CHECK(s.workload.output.ratio == 0.5);
}

TEST_CASE("a scenario without a routing law says what it assumes") {
  const Scenario s = read(replaced(kSmallScenario, "routing: {law: uniform}\n", ""));
  CHECK(s.routing.assumed);
  CHECK(s.routing.law == RoutingConfig::Law::two_level_lognormal);
  CHECK(s.routing.sigma_group == 0);
  CHECK(s.routing.sigma_expert == 0.50);
  REQUIRE(s.warnings.size() == 1);
  CHECK(s.warnings[0].find("routing: no law given") == 0);
}

TEST_CASE("continuous decode steps that the engine ignores are warned about") {
  const std::string flag = "  version: 2026-02\n  num_continuous_decode_steps: 8";
  const Scenario ignored = read(replaced(kSmallScenario, "  version: 2026-02", flag));
  REQUIRE(ignored.warnings.size() == 1);
  CHECK(ignored.warnings[0].find("SGLang 2026-02 parses this flag and ignores it") !=
        std::string::npos);
  CHECK(ignored.engine.num_continuous_decode_steps == 8);
  const Scenario studied =
      read(replaced(kSmallScenario, "  version: 2026-02",
                    flag + "\n  hypothetical: {continuous_decode_steps: true}"));
  CHECK(studied.warnings.empty());
  CHECK(studied.engine.hypothetical_continuous_decode);
  const Scenario old = read(replaced(kSmallScenario, "  version: 2026-02",
                                     "  version: 0.3.5\n  num_continuous_decode_steps: 8"));
  REQUIRE(old.warnings.size() == 1);
  CHECK(old.warnings[0].find("the rules of SGLang 0.3.5 were not read") != std::string::npos);
}

TEST_CASE("measured and limits are kept as they stand") {
  const Scenario s = read(std::string(kSmallScenario) +
                          "measured: {source: me, gpu_w_mean: 235}\nlimits: {ttft_p99: 2 s}\n");
  CHECK(s.measured.find("gpu_w_mean")->text == "235");
  CHECK(s.limits.find("ttft_p99")->text == "2 s");
  CHECK(s.cost.kind == plateau::ConfigNode::Kind::null);
}

TEST_CASE("a model name ending in -tpN sets the split") {
  const Scenario s = read(replaced(replaced(kSmallScenario, "model: glm", "model: glm-tp4"),
                                   "parallel: {tp: 8}\n", ""));
  CHECK(s.model.name == "glm");
  CHECK(s.parallel.tp == 4);
  CHECK(s.hardware.count == 4);
  CHECK(problems_with("model: glm", "model: glm-tp4") ==
        "s.yaml:4:16: parallel.tp: 8 contradicts the model's name, which ends in -tp4 (remove one "
        "of the two)\n");
  CHECK(plateau::split_model_name("x/y-tp2/config.json").tp == 0);
  CHECK(plateau::split_model_name("glm-tpx").tp == 0);
  CHECK(plateau::split_model_name("glm-tp0").tp == 0);
  CHECK(plateau::split_model_name("qwen3-30b-a3b-tp2").name == "qwen3-30b-a3b");
}

TEST_CASE("a model path is relative to the file that names it") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("sub/s.yaml", replaced(kSmallScenario, "model: glm", "model: ../m/config.json"));
  CHECK(read_scenario(path, small_options()).model.name == folder.path("sub/../m/config.json"));
  CHECK(read_scenario(path, small_options({"model=m/config.json"})).model.name == "m/config.json");
}

TEST_CASE("every error class of a scenario has its place and text") {
  CHECK(problems_with("concurrency: 2048", "concurency: 2048") ==
        "s.yaml:9:3: workload.concurrency: is missing (the number of clients)\n"
        "s.yaml:9:3: workload.concurency: unknown key (did you mean `concurrency`?)\n");
  CHECK(problems_with("concurrency: 2048", "concurrency: 0") ==
        "s.yaml:9:16: workload.concurrency: `0` is outside the range 1 to 1000000\n");
  CHECK(problems_with("concurrency: 2048", "concurrency: 1000000000000") ==
        "s.yaml:9:16: workload.concurrency: `1000000000000` is outside the range 1 to 1000000\n");
  CHECK(problems_with("concurrency: 2048", "concurrency: 64 clients") ==
        "s.yaml:9:16: workload.concurrency: `64 clients` is not a whole number (a count takes no "
        "unit)\n");
  CHECK(problems_with("input_length: 128 tokens", "input_length: 128") ==
        "s.yaml:11:17: workload.input_length: `128` has no unit (write `128 tokens`; units: "
        "tokens)\n");
  CHECK(problems_with("input_length: 128 tokens", "input_length: -1 tokens") ==
        "s.yaml:11:17: workload.input_length: `-1 tokens` is outside the range 1 tokens to "
        "10000000 tokens\n");
  CHECK(problems_with("3 per client", "3 per user") ==
        "s.yaml:10:13: workload.requests: `3 per user` is not understood (write a count, or `3 per "
        "client`)\n");
  CHECK(problems_with("3 per client", "0 per client")
            .find("is outside the range 1 to 10000000 requests in all") != std::string::npos);
  CHECK(problems_with("3 per client", "100000 per client").find("is outside the range") !=
        std::string::npos);
  CHECK(problems_with("model: glm", "model: gml") ==
        "s.yaml:2:8: model: there is no model `gml` (one of: glm)\n");
  CHECK(problems_with("interconnect: pcie", "interconnect: pci") ==
        "s.yaml:3:55: hardware.interconnect: `pci` is not one of nvlink, pcie, pcie_host_staged "
        "(did you mean `pcie`?)\n");
  CHECK(problems_with(", interconnect: pcie", "") ==
        "s.yaml:3:11: hardware.interconnect: is missing (nvlink, pcie or pcie_host_staged)\n");
  CHECK(problems_with("interconnect: pcie", "interconnect: pcie, power_limit: 600") ==
        "s.yaml:3:74: hardware.power_limit: `600` has no unit (write `600 W`; units: W, kW)\n");
  CHECK(problems_with("interconnect: pcie", "interconnect: pcie, count: 4") ==
        "s.yaml:3:68: hardware.count: 4 GPUs, but tp x pp x replicas = 8 (leave count out, or "
        "change parallel)\n");
  CHECK(problems_with("tp: 8", "tp: 3") ==
        "s.yaml:4:16: parallel.tp: 64 attention heads cannot be split over 3 GPUs\n"
        "s.yaml:4:16: parallel.tp: 2048 columns of an expert cannot be split over 3 GPUs\n");
  CHECK(problems_with("version: 2026-02", "version: newest") ==
        "s.yaml:7:12: engine.version: `newest` is no version of SGLang (a release such as 0.5.8, "
        "or 2026-02 or "
        "2026-07 for the main branch then)\n");
  CHECK(problems_with("version: 2026-02", "version: 2026-02\n  kv_source: log") ==
        "s.yaml:8:14: engine.kv_source: there is no kv_pool_tokens to have a source\n");
  CHECK(problems_with("version: 2026-02", "version: 2026-02\n  cuda_graph_bs: [2, 1]")
            .find("do not rise") != std::string::npos);
  CHECK(problems_with("law: uniform", "law: zipf") == "s.yaml:13:10: routing.alpha: is missing\n");
  CHECK(problems_with("law: uniform", "law: uniform, alpha: 1") ==
        "s.yaml:13:32: routing.alpha: the law uniform has no alpha (name the law that has it)\n");
  CHECK(problems_with("profile: sglang-0.5.14", "profile: h200-sxm/sglang-0.5.14") ==
        "s.yaml:14:24: calibration.profile: is of another device than hardware.device, "
        "rtx-pro-6000-server (write "
        "rtx-pro-6000-server/...)\n");
  CHECK(problems_with("output_length: 128 tokens",
                      "output_length: 200000 tokens\n  random_range_ratio: 1")
            .find("means different things to SGLang and vLLM") != std::string::npos);
  CHECK(problems_with("output_length: 128 tokens", "output_length: 202700 tokens") ==
        "s.yaml:12:18: workload.output_length: input and output together reach 202828 tokens; the "
        "model's context is "
        "202752\n");
}

TEST_CASE("a missing section is missing key by key") {
  CHECK(problems_of("# nothing\nmodel: glm\n") ==
        "s.yaml:2:1: hardware.device: is missing\n"
        "s.yaml:2:1: engine.kind: is missing (sglang or simple)\n"
        "s.yaml:2:1: workload.concurrency: is missing (the number of clients)\n"
        "s.yaml:2:1: workload.requests: is missing (write a count, or `3 per client`)\n"
        "s.yaml:2:1: workload.input_length: is missing (write input_length: 128 tokens)\n"
        "s.yaml:2:1: workload.output_length: is missing (write output_length: 128 tokens)\n"
        "s.yaml:2:1: calibration.profile: is missing\n");
  CHECK(problems_of("") == "s.yaml:1:1: the file is empty (write `key: value` lines)\n");
  CHECK(problems_of("[1]") ==
        "s.yaml:1:1: the file is not a map of keys (write `key: value` lines)\n");
}

TEST_CASE("what is not modelled yet is refused by name") {
  CHECK(problems_with("kind: sglang", "kind: vllm") ==
        "s.yaml:6:9: engine.kind: not modelled yet: vLLM's scheduler (modelled: sglang, simple)\n");
  CHECK(problems_with("tp: 8", "tp: 8, ep: 8") ==
        "s.yaml:4:23: parallel.ep: not modelled yet: expert parallelism (only ep: 1)\n");
  CHECK(problems_with("tp: 8", "tp: 8, attention_dp: 8") ==
        "s.yaml:4:33: parallel.attention_dp: not modelled yet: data-parallel attention (only "
        "attention_dp: 1)\n");
  CHECK(problems_with("tp: 8", "tp: 4, pp: 2") ==
        "s.yaml:4:23: parallel.pp: not modelled yet: pipeline parallelism (only pp: 1)\n");
  CHECK(problems_with("version: 2026-02", "version: 2026-02\n  speculative_algorithm: EAGLE") ==
        "s.yaml:8:26: engine.speculative_algorithm: not modelled yet: speculative decoding\n");
  CHECK(problems_with("version: 2026-02", "version: 2026-02\n  schedule_policy: lof") ==
        "s.yaml:8:20: engine.schedule_policy: not modelled yet: this order of the queue (only "
        "fcfs)\n");
  CHECK(problems_with("version: 2026-02", "version: 2026-02\n  enable_dp_attention: false") == "");
}

TEST_CASE("engine kind simple needs a pool and has no flags of SGLang") {
  const std::string simple =
      replaced(kSmallScenario, "kind: sglang\n  version: 2026-02", "kind: simple");
  CHECK(problems_of(simple) ==
        "s.yaml:6:3: engine.kv_pool_tokens: is missing (engine kind simple has no rule to size a "
        "pool by)\n");
  const Scenario s =
      read(replaced(simple, "kind: simple", "kind: simple\n  kv_pool_tokens: 32768"));
  CHECK(s.engine.kind == EngineConfig::Kind::simple);
  CHECK(problems_of(replaced(simple, "kind: simple",
                             "kind: simple\n  kv_pool_tokens: 32768\n  disable_radix_cache: "
                             "true")) ==
        "s.yaml:8:24: engine.disable_radix_cache: engine kind simple has no such flag (kind: "
        "sglang has it)\n");
}

TEST_CASE("--set overlays are typed and told apart from the file") {
  CHECK(read(kSmallScenario, {"workload.requests=512"}).workload.requests == 512);
  CHECK(read(kSmallScenario, {"workload.requests=512"}).workload.requests_per_client == 0);
  CHECK(read(kSmallScenario, {"workload.concurrency=10", "workload.concurrency=20"})
            .workload.requests == 60);
  CHECK(read(kSmallScenario, {"hardware.power_limit=400 W"}).hardware.power_limit_w == 400);
  CHECK(read(kSmallScenario, {"routing={law: zipf, alpha: 0.5}"}).routing.alpha == 0.5);
  CHECK(read(kSmallScenario, {"engine.hypothetical.continuous_decode_steps=true"})
            .engine.hypothetical_continuous_decode);
  CHECK(read(kSmallScenario, {"routing.law=~"}).routing.assumed);
  CHECK(problems_of_set("workload.concurrency=many") ==
        "command line: workload.concurrency: `many` is not a whole number\n");
  CHECK(problems_of_set("workload.concurency=3") ==
        "command line: workload.concurency: unknown key (did you mean `concurrency`?)\n");
  CHECK(problems_of_set("wrokload.concurrency=3") ==
        "command line: wrokload: unknown key (did you mean `workload`?)\n");
  CHECK(problems_of_set("workload.input_length=128") ==
        "command line: workload.input_length: `128` has no unit (write `128 tokens`; units: "
        "tokens)\n");
  CHECK(problems_of_set("workload.input_length.ratio=1") ==
        "command line: workload.input_length.ratio: `workload.input_length` is no map in this "
        "scenario (set "
        "`workload.input_length` as a whole)\n");
  CHECK(problems_of_set("nonsense") ==
        "command line: --set nonsense: has no `=` (write --set workload.concurrency=512)\n");
  CHECK(problems_of_set("=3") == "command line: --set =3: names no key (write --set key=value)\n");
  CHECK(problems_of_set("a..b=3") ==
        "command line: --set a..b=3: names no key (write --set key=value)\n");
  CHECK(problems_of_set("seed=") ==
        "command line: seed: no value after `=` (write --set seed=~ to take the key away)\n");
  CHECK(problems_of_set("base=x.yaml") ==
        "command line: base: cannot be set on the command line (run the other file instead)\n");
  CHECK(problems_of_set("routing={law: [") ==
        "command line: routing: a list or map stands where a key is due (write `key: value`; is a "
        "bracket left "
        "open?)\n");
  CHECK(problems_of_set("routing={law: zipf, law: zipf}")
            .find("command line: routing: this key is given twice") == 0);
}

TEST_CASE("device and profile are looked up where the data is") {
  const TemporaryFolder folder;
  folder.write("calibration/data/rtx-pro-6000-server/sglang-0.5.14/meta.yaml", "");
  folder.write("calibration/data/h200-sxm/torch/meta.yaml", "");
  const auto problem_of = [&](const std::string& assignment) -> std::string {
    plateau::ScenarioOptions options = small_options({assignment});
    options.data_dir = folder.path("");
    try {
      read_scenario(folder.write("s.yaml", kSmallScenario), options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(problem_of("seed=1") == "");
  CHECK(problem_of("hardware.device=rtx-pro-600-server") ==
        "command line: hardware.device: there is no device `rtx-pro-600-server` (did you mean "
        "`rtx-pro-6000-server`?)");
  CHECK(problem_of("hardware.device=tpu") ==
        "command line: hardware.device: there is no device `tpu` (one of: h200-sxm, "
        "rtx-pro-6000-server)");
  CHECK(
      problem_of("calibration.profile=vllm") ==
      "command line: calibration.profile: there is no profile `rtx-pro-6000-server/vllm` (one of: "
      "rtx-pro-6000-server/sglang-0.5.14)");
}

TEST_CASE("a fault found after reading gets the place of its key") {
  const TemporaryFolder folder;
  const std::string path = folder.write("s.yaml", kSmallScenario);
  const Scenario s = read_scenario(path, small_options({"workload.requests=512"}));
  const auto located_at = [&](const std::string& file, const std::string& key) {
    return std::string(
        located(InputError(plateau::Problem{file, 0, 0, key, "is wrong", ""}), s).what());
  };
  CHECK(located_at(path, "workload.concurrency") == path + ":9:16: workload.concurrency: is wrong");
  CHECK(located_at("", "workload.concurrency") == path + ":9:16: workload.concurrency: is wrong");
  CHECK(located_at(path, "workload.requests") == "command line: workload.requests: is wrong");
  CHECK(located_at(path, "engine.kv_pool_tokens") ==
        path + ":6:3: engine.kv_pool_tokens: is wrong");
  CHECK(located_at(path, "routing") == path + ":13:10: routing: is wrong");
  CHECK(located_at("table.csv", "routing") == "table.csv: routing: is wrong");
}

TEST_CASE("--seed wins over the file") {
  plateau::ScenarioOptions options = small_options({"seed=5"});
  const TemporaryFolder folder;
  const std::string path = folder.write("s.yaml", kSmallScenario);
  CHECK(read_scenario(path, options).seed == 5);
  options.seed = 7;
  CHECK(read_scenario(path, options).seed == 7);
}
