// The search against running everything: on made-up landscapes and on a real space.
#include "sim/plan/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/plan/plan.h"

using namespace plateau;

namespace {

// Four keys; the true figure has a ridge, a dent across it and a cliff, of which the estimate knows
// the ridge alone, and everything 20-40 % too high.
struct Landscape {
  double peak_a;
  double peak_b;
  double cliff;

  double estimate(const std::vector<std::int32_t>& at) const {
    return 1000 - 40 * std::pow(at[0] - peak_a, 2) / 10 - 15 * std::pow(at[1] - peak_b, 2) +
           5.0 * at[2];
  }
  double run(const std::vector<std::int32_t>& at) const {
    const double dent = at[3] == 2 ? 0.9 : 1 - 0.01 * at[3];
    const double fall = at[0] > cliff ? 0.7 : 1;
    return estimate(at) * (0.8 - 0.01 * at[0]) * dent * fall;
  }
};

PointSpace space() {
  SpaceRequest request;
  request.vary = {"a=1..20:20", "b=1..10:10", "c=1..5:5", "d=1..5:5"};
  return PointSpace(request);
}

Metrics with_tokens(double value) {
  Metrics metrics(metric_names().size(), std::numeric_limits<double>::quiet_NaN());
  metrics[metric_index("output_tok_per_s")] = value;
  metrics[metric_index("tpot_p50_ms")] = value / 10;
  return metrics;
}

Evaluation evaluation(const PointSpace& space, const Landscape& land) {
  return {[&space, land](const std::vector<std::int64_t>& points) {
            std::vector<PointEstimate> all;
            for (const std::int64_t point : points) {
              PointEstimate one;
              one.ok = true;
              one.metrics = with_tokens(land.estimate(space.indices(point)));
              one.steps = 100;
              one.priced = 2;
              all.push_back(one);
            }
            return all;
          },
          [&space, land](const std::vector<std::int64_t>& points) {
            std::vector<Candidate> all;
            for (const std::int64_t point : points) {
              Candidate one;
              one.point = point;
              one.ok = true;
              one.metrics = with_tokens(land.run(space.indices(point)));
              one.steps = 100;
              all.push_back(one);
            }
            return all;
          }};
}

Candidate best_of(const PlanGoal& goal, const SearchResult& result) {
  return *std::min_element(
      result.runs.begin(), result.runs.end(),
      [&](const Candidate& a, const Candidate& b) { return better(goal, a, b); });
}

}  // namespace

TEST_CASE("the search finds the best of 5,000 points within a tenth of the steps") {
  const PointSpace points = space();
  int found = 0;
  int tried = 0;
  for (const double peak : {2.0, 7.0, 12.0, 19.0}) {
    for (const double cliff : {4.0, 9.0, 15.0, 30.0}) {
      for (const bool limited : {false, true}) {
        const Landscape land{peak, peak / 2, cliff};
        GoalRequest request;
        if (limited) request.limits = {"tpot_p50 <= 55 ms"};
        const PlanGoal goal = read_goal(request, {}, false);
        SearchOptions all;
        all.exhaustive = points.size();
        const SearchResult whole = search(points, goal, evaluation(points, land), all);
        const SearchResult guided = search(points, goal, evaluation(points, land), {});
        CHECK(guided.method == "guided");
        CHECK(guided.steps + guided.priced <= 0.1 * whole.steps);
        const double best = goal.score(best_of(goal, whole).metrics);
        const Candidate answer = best_of(goal, guided);
        CHECK(goal.excess(answer.metrics) <= goal.excess(best_of(goal, whole).metrics));
        ++tried;
        found += goal.score(answer.metrics) >= 0.995 * best ? 1 : 0;
      }
    }
  }
  CHECK(tried == 32);
  CHECK(found >= 31);
}

TEST_CASE("a limit that nothing keeps leads to the point that breaks it least") {
  const PointSpace points = space();
  GoalRequest request;
  request.limits = {"tok_per_s >= 5000"};
  const PlanGoal goal = read_goal(request, {}, false);
  const Landscape land{7, 3, 30};
  SearchOptions all;
  all.exhaustive = points.size();
  const double best =
      goal.excess(best_of(goal, search(points, goal, evaluation(points, land), all)).metrics);
  const double found =
      goal.excess(best_of(goal, search(points, goal, evaluation(points, land), {})).metrics);
  CHECK(best > 0);
  CHECK(found <= best * 1.01);
}

TEST_CASE("plan agrees with all points of a real space, on any number of threads") {
  PlanRequest request;
  request.scenario = PLATEAU_SOURCE_DIR "/scenarios/qwen3-30b-a3b-1x-h200.yaml";
  request.options.data_dir = PLATEAU_SOURCE_DIR;
  request.options.sets = {"workload.concurrency=48", "workload.requests=100",
                          "workload.input_length=64 tokens", "workload.output_length=64 tokens"};
  request.space.vary = {
      "engine.max_running_requests=4..48:23", "engine.chunked_prefill_size=256..4096:8",
      "engine.cuda_graph_max_bs=8,16,24,32,48", "engine.mem_fraction_static=0.76..0.9:2"};
  request.goal.limits = {"tpot_p50 <= 25 ms"};
  const PlanResult guided = plan(request);
  CHECK(guided.search.method == "guided");
  request.threads = 3;
  CHECK(plan_json(request, plan(request)) == plan_json(request, guided));
  request.search.exhaustive = 1'000'000;
  const PlanResult whole = plan(request);
  REQUIRE_FALSE(whole.best.empty());
  REQUIRE_FALSE(guided.best.empty());
  CHECK(guided.goal.score(guided.best[0].run.metrics) >=
        0.995 * whole.goal.score(whole.best[0].run.metrics));
  CHECK(guided.search.steps + guided.search.priced <= 0.1 * whole.search.steps);
}

TEST_CASE("the launch command carries the flags that were chosen") {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.sets = {"engine.max_running_requests=48", "engine.disable_cuda_graph=true",
                  "engine.mem_fraction_static=0.85"};
  const Scenario scenario =
      read_scenario(PLATEAU_SOURCE_DIR "/scenarios/qwen3-30b-a3b-1x-h200.yaml", options);
  CHECK(
      launch_command(scenario, "qwen3-30b-a3b") ==
      "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp 1 --mem-fraction-static "
      "0.85 --max-running-requests 48 --disable-cuda-graph");
}

TEST_CASE("the launch command names weights that can be loaded, or says that it cannot") {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  const Scenario glm =
      read_scenario(PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml", options);
  const auto path = [&](const std::string& model) {
    const std::string command = launch_command(glm, model);
    const std::size_t from = command.find("--model-path ") + 13;
    return command.substr(from, command.find(" --tp") - from);
  };
  CHECK(path("glm-5-nvfp4-community") == "'<folder of glm-5-nvfp4-community>'");
  CHECK(path("/models/GLM-5/config.json") == "/models/GLM-5");
  CHECK(path("config.json") == ".");
  CHECK(path("/models/GLM-5") == "/models/GLM-5");
  CHECK(path("/models/glm_config.json") == "'<folder of glm-5-nvfp4-community>'");
}

TEST_CASE("estimates share the steps they price and say the same as alone") {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  PricedSteps shared;
  int priced = 0;
  for (const char* cap : {"8", "16", "16", "64"}) {
    for (const char* graphs : {"false", "true"}) {
      const std::vector<std::string> sets = {std::string("engine.max_running_requests=") + cap,
                                             std::string("engine.disable_cuda_graph=") + graphs};
      options.sets = sets;
      const Scenario scenario =
          read_scenario(PLATEAU_SOURCE_DIR "/scenarios/qwen3-30b-a3b-1x-h200.yaml", options);
      Deployment deployment(scenario, PLATEAU_SOURCE_DIR);
      PricedSteps own;
      const PointEstimate alone = estimate(deployment, own, "");
      const PointEstimate with = estimate(deployment, shared, PricedSteps::pricing_of(sets));
      priced += with.priced;
      for (std::size_t i = 0; i < alone.metrics.size(); ++i) {
        if (!std::isnan(alone.metrics[i])) CHECK(alone.metrics[i] == with.metrics[i]);
      }
    }
  }
  // Decode with and without graphs at three caps; the prompts of 16 are two chunks like that of 8.
  CHECK(priced == 2 * 3 + 2);
  CHECK(PricedSteps::pricing_of({"engine.kv_cache_dtype=auto"}) !=
        PricedSteps::pricing_of({"engine.kv_cache_dtype=fp8_e4m3"}));
}
