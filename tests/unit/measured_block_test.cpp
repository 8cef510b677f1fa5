#include "sim/scenario/measured.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "sim/scenario/overlay.h"
#include "sim/scenario/read_scenario.h"
#include "tests/support/scenario_text.h"

using plateau::InputError;
using plateau::MeasuredRun;
using plateau::test::kSmallScenario;
using plateau::test::small_options;
using plateau::test::TemporaryFolder;

namespace {

MeasuredRun measured(const std::string& block) {
  return plateau::measured_of(plateau::parse_yaml(block, "s.yaml"), "s.yaml");
}

// "line:column key: message (hint)" of every problem with the block, one a line.
std::string problems_of(const std::string& block) {
  try {
    measured(block);
  } catch (const InputError& error) {
    std::string all;
    for (const plateau::Problem& problem : error.problems()) all += to_string(problem) + "\n";
    return all;
  }
  return "";
}

}  // namespace

TEST_CASE("a measured block holds figures of the scenario and of its points") {
  const MeasuredRun run = measured(
      "measured:\n  source: us\n  date: 2026-03\n  output_tok_per_s: 2095\n  ttft_p50: 1.5 s\n"
      "  points:\n    - {set: {workload.concurrency: 3072}, output_tok_per_s: 2062}\n"
      "    - {batch: 4, kernel: moe_experts, kernel_us: 73}\n");
  CHECK(run.source == "us");
  CHECK(run.date == "2026-03");
  REQUIRE(run.points.size() == 3);
  REQUIRE(run.points[0].figures.size() == 2);
  CHECK(run.points[0].figures[1].metric == "ttft_p50");
  CHECK(run.points[0].figures[1].value == doctest::Approx(1500));
  CHECK(run.points[0].place.line == 4);
  CHECK(run.points[1].set.keys == std::vector<std::string>{"workload.concurrency"});
  CHECK(run.points[1].place.line == 7);
  CHECK(*run.points[2].batch == 4);
  CHECK(run.points[2].kernel == "moe_experts");
  CHECK_FALSE(run.pool_only());
}

TEST_CASE("a measured block of pool figures alone needs no engine that can run") {
  CHECK(measured("measured: {source: us, kv_capacity_tokens: 5, weights_gib: 2}").pool_only());
  CHECK_FALSE(measured("measured: {source: us, kv_capacity_tokens: 5, gpu_w_mean: 2}").pool_only());
}

TEST_CASE("every mistake in a measured block is told with its place, its key and a way out") {
  struct Mistake {
    const char* block;
    const char* told;
  };
  const Mistake mistakes[] = {
      {"output_tok_s: 5",
       "s.yaml:3:3: measured.output_tok_s: unknown key (did you mean "
       "`output_tok_per_s`?)"},
      {"gpu_w_mean: -3", "s.yaml:3:15: measured.gpu_w_mean: is impossible: it must be above 0"},
      {"gpu_w_mean: 0", "measured.gpu_w_mean: is impossible: it must be above 0 (leave"},
      {"gpu_w_mean: nan", "s.yaml:3:15: measured.gpu_w_mean: `nan`"},
      {"utilization_pct: 101", "measured.utilization_pct: is impossible: it is above 100"},
      {"ttft_p50: 30", "s.yaml:3:13: measured.ttft_p50: `30` has no unit (write `30 ms`"},
      {"ttft_p50: 0 ms", "measured.ttft_p50: is impossible: it must be above 0"},
      {"step_ms: 4", "measured.step_ms: is a figure of one decode step, and there is no batch"},
      {"ctx_tokens: 4", "measured.ctx_tokens: is of a decode step, and there is no batch"},
      {"points: [{batch: 2, ttft_mean: 3 ms}]", "points[0].ttft_mean: is no figure of one decode"},
      {"points: [{batch: 2, kv_pool_gib: 3}]", "points[0].kv_pool_gib: is no figure of one decode"},
      {"points: [{batch: 2, step_ms: 3}]", "points[0].step_ms: needs the context"},
      {"points: [{batch: 2, kernel_us: 3}]", "points[0].kernel_us: kernel and kernel_us belong"},
      {"points: [{batch: 2, kernel: a}]", "points[0].kernel: kernel and kernel_us belong"},
      {"points: [{set: {workload.concurrency: 3}}]",
       "points[0]: names no figure that was measured"},
      {"points: [{set: {concurrency: 3}, seconds: 3}]",
       "s.yaml:3:19: measured.points[0].set.concurrency: `concurrency` is no key that a point may "
       "set (did you mean `workload.concurrency`?)"},
      {"points: [{set: {workload.concurency: 3}, seconds: 3}]",
       "did you mean "
       "`workload.concurrency`?"},
      {"points: [{set: {measured.seconds: 3}, seconds: 3}]", "is no key that a point may set"},
      {"points: [{set: {base: x.yaml}, seconds: 3}]", "is no key that a point may set"},
      {"points: [{set: 3, seconds: 3}]", "points[0].set: is not a map of keys"},
      {"points: 3", "measured.points: is a single value where a list of maps is due"},
      {"set: {seed: 2}", "measured.set: unknown key"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string block = std::string("measured:\n  source: us\n  ") + mistake.block + "\n";
    const std::string told = problems_of(block);
    CAPTURE(block);
    CAPTURE(told);
    CHECK(told.find(mistake.told) != std::string::npos);
    // The reader of a scenario finds the same: `run` does not pass over a mistake either.
    const TemporaryFolder folder;
    const std::string path = folder.write("s.yaml", std::string(kSmallScenario) + block);
    CHECK_THROWS_AS(plateau::read_scenario(path, small_options({})), InputError);
  }
  CHECK(problems_of("measured: {output_tok_per_s: 5}").find("measured.source: is missing") !=
        std::string::npos);
  CHECK(problems_of("measured: {source: us}").find("names no figure") != std::string::npos);
  CHECK(problems_of("seed: 1").find("there is nothing to compare with") != std::string::npos);
}

TEST_CASE("names of measured figures are unique") {
  std::set<std::string> names;
  for (const plateau::MeasuredMetric& metric : plateau::measured_metrics())
    CHECK_MESSAGE(names.insert(metric.name).second, metric.name);
}

TEST_CASE("what only the pool allows is refused to a run") {
  const std::string vllm =
      "model: glm\nhardware: {device: x}\nparallel: {tp: 8, attention_dp: 8}\n"
      "engine: {kind: vllm, kv_cache_dtype: fp8_ds_mla, kv_pool_memory: 10 GiB}\n";
  const TemporaryFolder folder;
  const std::string path = folder.write("s.yaml", vllm);
  plateau::ScenarioOptions options = small_options({});
  CHECK_THROWS_AS(plateau::read_scenario(path, options), InputError);
  options.pool_only = true;
  const plateau::Scenario scenario = plateau::read_scenario(path, options);
  CHECK(scenario.engine.kind == plateau::EngineConfig::Kind::vllm);
  CHECK(*scenario.engine.kv_pool_gib == doctest::Approx(10));
  // SGLang's pool beside a draft model is not modelled, so it is not passed over either.
  const std::string sglang =
      folder.write("d.yaml",
                   "model: glm\nhardware: {device: x}\nengine: {kind: sglang, version: 0.5.8, "
                   "kv_pool_memory: 10 GiB, speculative_algorithm: EAGLE}\n");
  CHECK_THROWS_WITH_AS(plateau::read_scenario(sglang, options),
                       doctest::Contains("not modelled yet: speculative decoding"), InputError);
  const std::string run =
      folder.write("r.yaml", std::string(kSmallScenario)
                                 .replace(std::string(kSmallScenario).find("  version"), 0,
                                          "  kv_cache_dtype: fp8_ds_mla\n"));
  CHECK_THROWS_WITH_AS(plateau::read_scenario(run, small_options({})),
                       doctest::Contains("not modelled yet: attention over this layout"),
                       InputError);
}
