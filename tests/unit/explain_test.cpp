#include "sim/explain/explain.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"

using namespace plateau;

namespace {

const std::string kFounding = PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml";

Deployment deployment(const std::vector<std::string>& sets) {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.sets = sets;
  return Deployment(read_scenario(kFounding, options), PLATEAU_SOURCE_DIR);
}

RunSummary summary(const std::vector<std::string>& sets) {
  Deployment made = deployment(sets);
  return summarise(made);
}

std::map<std::string, CauseShare> by_name(const Explanation& explanation) {
  std::map<std::string, CauseShare> causes;
  for (const CauseShare& cause : explanation.causes) causes[cause.cause] = cause;
  return causes;
}

// `running` requests decode in steps of `step` seconds, nothing else happens.
RunSummary plain(double running, double step) {
  RunSummary run;
  run.running = running;
  run.sequences = 100 * running;
  run.output_tokens = run.sequences;
  run.seconds = 100 * step;
  run.step_seconds[0] = step;
  run.decode.seconds[0] = run.seconds;
  run.decode.joules[0] = 200 * run.seconds;
  run.gpu_w = 200;
  run.tok_per_s = running / step;
  run.tpot_ms = step * 1e3;
  return run;
}

}  // namespace

TEST_CASE("the logarithmic mean lies between its arguments and knows no order") {
  CHECK(logarithmic_mean(3, 3) == 3);
  CHECK(logarithmic_mean(1, std::exp(1.0)) == doctest::Approx(std::exp(1.0) - 1));
  CHECK(logarithmic_mean(2, 5) == logarithmic_mean(5, 2));
  CHECK(logarithmic_mean(1, 1 + 1e-15) == doctest::Approx(1));
}

TEST_CASE("twice the requests in the same step is the batch's doing alone") {
  const auto causes = by_name(explain(plain(10, 0.1), plain(20, 0.1)));
  CHECK(causes.at("batch").output_tok_per_s == doctest::Approx(100));
  for (const auto& [name, cause] : causes) {
    if (name != "batch") CHECK(std::abs(cause.output_tok_per_s) < 1e-9);
    CHECK(std::abs(*cause.tpot_ms) < 1e-9);
    CHECK(std::abs(cause.gpu_w_mean) < 1e-9);
  }
}

TEST_CASE("a longer step is its term's doing, in tok/s and in TPOT") {
  const auto causes = by_name(explain(plain(10, 0.1), plain(10, 0.2)));
  CHECK(causes.at("collectives").output_tok_per_s == doctest::Approx(-50));
  CHECK(*causes.at("collectives").tpot_ms == doctest::Approx(100));
  CHECK(std::abs(causes.at("batch").output_tok_per_s) < 1e-9);
}

TEST_CASE("the summary of a run holds the report's own figures and takes its steps apart whole") {
  Deployment made = deployment({"workload.requests=512", "workload.concurrency=256"});
  const Report report = run(made);
  const RunSummary s = summarise(made);
  CHECK(s.tok_per_s == report.throughput.output_tok_per_s);
  CHECK(s.gpu_w == report.power.gpu_w_mean);
  const double busy = s.decode.total_seconds() + s.prefill.total_seconds();
  CHECK(busy == doctest::Approx(report.throughput.seconds).epsilon(1e-9));
  const double joules = s.decode.total_joules() + s.prefill.total_joules();
  CHECK(joules * report.subject.gpus == doctest::Approx(report.energy.j_total).epsilon(1e-9));
  const auto collectives = static_cast<std::size_t>(Term::collectives);
  const double share =
      (s.decode.seconds[collectives] + s.prefill.seconds[collectives]) / report.throughput.seconds;
  CHECK(
      share ==
      doctest::Approx(report.time_split[static_cast<std::size_t>(Part::all_reduce)]).epsilon(0.01));
}

TEST_CASE("1,024 against 2,048 clients of the founding run: the batch gives, collectives take") {
  const RunSummary small = summary({"workload.concurrency=1024", "workload.requests=6144"});
  const RunSummary large = summary({});
  const Explanation explanation = explain(small, large);
  double tok_per_s = 0;
  double tpot = 0;
  double watts = 0;
  for (const CauseShare& cause : explanation.causes) {
    tok_per_s += cause.output_tok_per_s;
    tpot += *cause.tpot_ms;
    watts += cause.gpu_w_mean;
  }
  CHECK(std::abs(tok_per_s - (large.tok_per_s - small.tok_per_s)) < 1e-8);
  CHECK(std::abs(tpot - (*large.tpot_ms - *small.tpot_ms)) < 1e-8);
  CHECK(std::abs(watts - (large.gpu_w - small.gpu_w)) < 1e-8);
  CHECK(explanation.causes[0].cause == "batch");
  CHECK(explanation.causes[0].output_tok_per_s > 0);
  CHECK(explanation.causes[1].cause == "collectives");
  CHECK(explanation.causes[1].output_tok_per_s < 0);
  const auto causes = by_name(explanation);
  CHECK(causes.at("experts_touched").a == doctest::Approx(256).epsilon(0.01));
  CHECK(std::abs(causes.at("experts_touched").output_tok_per_s) <
        0.1 * causes.at("batch").output_tok_per_s);
  CHECK(causes.at("clock").output_tok_per_s == 0);
}

TEST_CASE("a faster all-reduce is explained by collectives") {
  const auto causes = by_name(explain(summary({}), summary({"hypothetical.all_reduce_scale=0.5"})));
  for (const auto& [name, cause] : causes) {
    if (name == "collectives") continue;
    CHECK_MESSAGE(
        std::abs(cause.output_tok_per_s) < 0.1 * causes.at("collectives").output_tok_per_s, name);
  }
}

TEST_CASE("graphs turned on show as launch and padding") {
  const std::vector<std::string> few = {"workload.concurrency=9", "workload.requests=45"};
  std::vector<std::string> graphs = few;
  graphs.push_back("engine.disable_cuda_graph=false");
  const auto causes = by_name(explain(summary(few), summary(graphs)));
  CHECK(causes.at("launch").output_tok_per_s > 0);
  CHECK(causes.at("padding").output_tok_per_s < 0);
}

TEST_CASE("a low clock shows as clock") {
  const auto causes = by_name(explain(summary({}), summary({"hardware.sm_clock=1400 MHz"})));
  CHECK(causes.at("clock").output_tok_per_s < 0);
  CHECK(causes.at("clock").gpu_w_mean < 0);
}
