// Causes sum to the change and turn their sign with the order of the runs, for any pair of runs.
#include <doctest/doctest.h>

#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/explain/explain.h"
#include "tests/support/scenario_text.h"

using namespace plateau;

namespace {

double unit() { return *rc::gen::inRange(0, 1'000'001) * 1e-6; }

// A summary that obeys its own bookkeeping, as any run's does: wall = decode + prefill + idle,
// watts = joules / wall.
RunSummary any_summary() {
  RunSummary run;
  const bool decodes = *rc::gen::inRange(0, 10) > 0;
  const bool prefills = *rc::gen::inRange(0, 10) > 0 || !decodes;
  const double idle = *rc::gen::inRange(0, 3) == 0 ? 10 * unit() : 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if (decodes) run.decode.seconds[i] = 1e-3 + 10 * unit();
    if (prefills) run.prefill.seconds[i] = 1e-3 + 10 * unit();
    run.decode.joules[i] = run.decode.seconds[i] * 600 * unit();
    run.prefill.joules[i] = run.prefill.seconds[i] * 600 * unit();
    run.step_seconds[i] = run.decode.seconds[i] * (0.5 + unit());
  }
  const double joules = run.decode.total_joules() + run.prefill.total_joules();
  run.prefill_tokens = prefills ? 1 + 1e6 * unit() : 0;
  run.idle_watts = 20 + 60 * unit();
  run.seconds = run.decode.total_seconds() + run.prefill.total_seconds() + idle;
  run.gpu_w = (joules + idle * run.idle_watts) / run.seconds;
  run.sequences = decodes ? 1 + 1e6 * unit() : 0;
  run.running = decodes ? 1 + 4096 * unit() : 0;
  run.output_tokens = 1 + 1e6 * unit();
  run.tok_per_s = run.output_tokens / run.seconds;
  if (decodes) run.tpot_ms = 0.1 + 1000 * unit();
  run.active_experts = 256 * unit();
  return run;
}

struct Sums {
  double tok_per_s = 0;
  double tpot_ms = 0;
  double watts = 0;
};

Sums sums_of(const Explanation& explanation) {
  Sums sums;
  for (const CauseShare& cause : explanation.causes) {
    sums.tok_per_s += cause.output_tok_per_s;
    sums.tpot_ms += cause.tpot_ms.value_or(0);
    sums.watts += cause.gpu_w_mean;
  }
  return sums;
}

bool near(double sum, double change, double scale) {
  return std::abs(sum - change) <= 1e-9 * scale;
}

const CauseShare& cause_of(const Explanation& explanation, const std::string& name) {
  for (const CauseShare& cause : explanation.causes) {
    if (cause.cause == name) return cause;
  }
  FAIL("no cause " << name);
  return explanation.causes.front();
}

void check_sums(const RunSummary& a, const RunSummary& b) {
  const Explanation forward = explain(a, b);
  const Sums sums = sums_of(forward);
  RC_ASSERT(near(sums.tok_per_s, b.tok_per_s - a.tok_per_s, a.tok_per_s + b.tok_per_s));
  RC_ASSERT(near(sums.watts, b.gpu_w - a.gpu_w, a.gpu_w + b.gpu_w));
  if (a.tpot_ms && b.tpot_ms)
    RC_ASSERT(near(sums.tpot_ms, *b.tpot_ms - *a.tpot_ms, *a.tpot_ms + *b.tpot_ms));
  const Explanation backward = explain(b, a);
  RC_ASSERT(forward.causes.size() == backward.causes.size());
  for (const CauseShare& cause : forward.causes) {
    const CauseShare& other = cause_of(backward, cause.cause);
    RC_ASSERT(cause.output_tok_per_s == -other.output_tok_per_s);
    RC_ASSERT(cause.gpu_w_mean == -other.gpu_w_mean);
    RC_ASSERT(cause.tpot_ms.has_value() == other.tpot_ms.has_value());
    if (cause.tpot_ms) RC_ASSERT(*cause.tpot_ms == -*other.tpot_ms);
  }
}

RunSummary small_run(const std::string& text) {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  const test::TemporaryFolder folder;
  Deployment deployment(read_scenario(folder.write("s.yaml", text), options), PLATEAU_SOURCE_DIR);
  return summarise(deployment);
}

// A scenario drawn over batch, lengths, graphs, caps, clocks and what-ifs.
std::string any_scenario() {
  const auto pick = [](std::vector<std::string> words) { return *rc::gen::elementOf(words); };
  return "# Any?\nmodel: glm-5-nvfp4\n"
         "hardware: {device: rtx-pro-6000-server, count: 8, interconnect: pcie}\n"
         "parallel: {tp: 8}\n"
         "engine: {kind: sglang, version: 2026-02, kv_pool_tokens: " +
         pick({"4096", "65536"}) + ", max_running_requests: " + pick({"4", "64"}) +
         ", disable_cuda_graph: " + pick({"true", "false"}) +
         ", enable_mixed_chunk: " + pick({"true", "false"}) +
         ", disable_overlap_schedule: " + pick({"true", "false"}) +
         "}\nworkload: {concurrency: " + pick({"1", "13", "40"}) +
         ", requests: 60, input_length: " + pick({"16", "300"}) +
         " tokens, output_length: " + pick({"1", "8", "33"}) +
         " tokens}\nrouting: {law: zipf, alpha: " + pick({"0.2", "1"}) +
         "}\nhypothetical: {all_reduce_scale: " + pick({"1", "0.5"}) +
         "}\ncalibration: {profile: sglang-0.5.14}\n";
}

}  // namespace

TEST_CASE("causes of any two summaries sum to the change, and turn with the order") {
  CHECK(rc::check([] { check_sums(any_summary(), any_summary()); }));
}

TEST_CASE("a run explained against itself has no causes") {
  CHECK(rc::check([] {
    const RunSummary run = any_summary();
    for (const CauseShare& cause : explain(run, run).causes) {
      RC_ASSERT(cause.output_tok_per_s == 0);
      RC_ASSERT(cause.tpot_ms.value_or(0) == 0);
      RC_ASSERT(cause.gpu_w_mean == 0);
    }
  }));
}

TEST_CASE("causes of two simulated runs sum to what their reports say") {
  CHECK(rc::check([] { check_sums(small_run(any_scenario()), small_run(any_scenario())); }));
}
