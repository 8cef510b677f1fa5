// The ladder against runs of the same scenario made by hand.
#include "sim/ladder/ladder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/deployment/run.h"
#include "sim/ladder/knobs.h"

using namespace plateau;

namespace {

const std::string kScenario = PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml";

ScenarioOptions options_with(std::vector<std::string> sets) {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.sets = std::move(sets);
  return options;
}

Report report_with(std::vector<std::string> sets) {
  Deployment deployment(read_scenario(kScenario, options_with(std::move(sets))),
                        PLATEAU_SOURCE_DIR);
  return run(deployment);
}

double tok_per_s(std::vector<std::string> sets) {
  return report_with(std::move(sets)).throughput.output_tok_per_s;
}

const Report& with_ladder() {
  static const Report report = [] {
    Report made = report_with({});
    add_ladder(kScenario, options_with({}), &made);
    return made;
  }();
  return report;
}

const LadderRung& rung(const std::string& change) {
  for (const LadderRung& r : with_ladder().binding.ladder) {
    if (r.change.find(change) != std::string::npos) return r;
  }
  FAIL("no rung " << change);
  return with_ladder().binding.ladder.front();
}

}  // namespace

TEST_CASE("each rung and each marginal of the founding run is the difference of two runs") {
  const double own = tok_per_s({});
  int marginals = 0;
  for (const LadderRung& r : with_ladder().binding.ladder) {
    CAPTURE(r.change);
    REQUIRE(r.tok_per_s_if_relaxed);
    CHECK(r.not_run.empty());
    CHECK(r.hypothetical == is_hypothetical(r.sets));
    CHECK(std::abs(*r.tok_per_s_if_relaxed - tok_per_s(r.sets)) < 1e-9);
    CHECK(std::abs(*r.gain - (*r.tok_per_s_if_relaxed - own)) < 1e-9);
    if (!r.marginal) continue;
    ++marginals;
    const double difference = tok_per_s(r.marginal_sets) - tok_per_s(r.marginal_from);
    CHECK(std::abs(*r.marginal - difference / r.marginal_amount) < 1e-9);
  }
  CHECK(marginals >= 5);
}

TEST_CASE(
    "the founding run is bound by its all-reduce, and the ladder agrees by running it again") {
  const BindingReport& binding = with_ladder().binding;
  CHECK(binding.constraint == "all_reduce");
  CHECK(binding.ladder.front().constraint == "all_reduce");
  CHECK(binding.climb.front().constraint == "all_reduce");
  CHECK_FALSE(binding.ladder.front().binds_next.empty());
  for (std::size_t i = 1; i < binding.ladder.size(); ++i) {
    CHECK(*binding.ladder[i - 1].gain >= *binding.ladder[i].gain);
  }
  for (std::size_t i = 1; i < binding.climb.size(); ++i) {
    CHECK(binding.climb[i].output_tok_per_s > binding.climb[i - 1].output_tok_per_s);
    CHECK(binding.climb[i].sets.size() > binding.climb[i - 1].sets.size());
  }
}

TEST_CASE("the founding run's ladder prices all-reduce, KV, graphs, a cap and fewer experts") {
  for (const char* change : {"all-reduces in half the time", "a KV pool of 990,976 tokens",
                             "CUDA graphs on", "half as many experts touched"}) {
    CHECK(rung(change).tok_per_s_if_relaxed);
  }
  CHECK(rung("half as many experts touched").price);
  const LadderRung& pool = rung("a KV pool");
  CHECK_FALSE(pool.hypothetical);
  CHECK(pool.breaks == std::vector<std::string>{"memory"});
  CHECK(pool.marginal_amount == doctest::Approx(1).epsilon(0.01));
  CHECK(rung("max_running_requests").gain == doctest::Approx(0));
}

TEST_CASE("a halved all-reduce takes off half of its time") {
  const Report own = report_with({});
  const Report half = report_with({"hypothetical.all_reduce_scale=0.5"});
  const auto at = static_cast<std::size_t>(Part::all_reduce);
  const double before = own.time_split[at] * own.throughput.seconds;
  const double after = half.time_split[at] * half.throughput.seconds;
  CHECK(after == doctest::Approx(before / 2).epsilon(1e-6));
  const double rest = own.throughput.seconds - before;
  CHECK(half.throughput.seconds == doctest::Approx(rest + after).epsilon(1e-3));
  CHECK(std::any_of(half.warnings.begin(), half.warnings.end(), [](const std::string& warning) {
    return warning.find("hypothetical.all_reduce_scale: 0.5") == 0;
  }));
}

TEST_CASE("a knob that the scenario refuses stays in the ladder with the reason") {
  Report report = report_with({"hypothetical.all_reduce_scale=0.5"});
  add_ladder(kScenario, options_with({"hypothetical.all_reduce_scale=0.5"}), &report);
  const auto half_again =
      std::find_if(report.binding.ladder.begin(), report.binding.ladder.end(),
                   [](const LadderRung& r) { return r.constraint == "all_reduce"; });
  REQUIRE(half_again != report.binding.ladder.end());
  CHECK(half_again->sets == std::vector<std::string>{"hypothetical.all_reduce_scale=0.25"});
}
