// Objectives and limits as they are written, and what keeps or breaks them.
#include "sim/plan/goal.h"

#include <doctest/doctest.h>

#include <limits>

#include "calibration/input_error.h"

using namespace plateau;

namespace {

PlanGoal goal(std::vector<std::string> limits, const std::string& section = "",
              bool open_loop = false) {
  GoalRequest request;
  request.limits = std::move(limits);
  const ConfigNode node =
      section.empty() ? ConfigNode{} : *parse_yaml("limits: " + section, "s.yaml").find("limits");
  return read_goal(request, node, open_loop);
}

std::string refusal(const GoalRequest& request, const std::string& section = "") {
  try {
    read_goal(
        request,
        section.empty() ? ConfigNode{} : *parse_yaml("limits: " + section, "s.yaml").find("limits"),
        false);
  } catch (const InputError& error) {
    return to_string(error.problems().front());
  }
  return "";
}

std::string limit_refusal(std::vector<std::string> limits) {
  GoalRequest request;
  request.limits = std::move(limits);
  return refusal(request);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Metrics metrics(const std::string& name, double value) {
  Metrics all(metric_names().size(), std::numeric_limits<double>::quiet_NaN());
  all[metric_index(name)] = value;
  return all;
}

}  // namespace

TEST_CASE("limits carry units and a direction") {
  const PlanGoal plan = goal({"ttft_p99 <= 0.5 s", "tok_per_s=1000", "node_power<=3 kW"});
  REQUIRE(plan.limits.size() == 3);
  CHECK(plan.limits[0].bound == 500);
  CHECK_FALSE(plan.limits[0].at_least);
  CHECK(plan.limits[1].at_least);
  CHECK(plan.limits[2].bound == 3000);
  CHECK(plan.limits[0].excess(metrics("ttft_p99_ms", 500)) == 0);
  CHECK(plan.limits[0].excess(metrics("ttft_p99_ms", 750)) == doctest::Approx(0.5));
  CHECK(plan.limits[1].excess(metrics("output_tok_per_s", 500)) == doctest::Approx(1));
  CHECK(plan.limits[1].excess(metrics("output_tok_per_s", 2000)) < 0);
  CHECK(plan.excess(metrics("ttft_p99_ms", 550)) == doctest::Approx(0.1));
}

TEST_CASE("a scenario's limits are read with their places") {
  CHECK(goal({}, "{ttft_p99: 500 ms, gpus: 8}").limits.size() == 2);
  CHECK(contains(refusal({}, "{}"), "s.yaml:1:9: limits: holds no limit"));
  CHECK(
      contains(refusal({}, "{ttft_p99: 500}"), "s.yaml:1:20: limits.ttft_p99: `500` has no unit"));
  CHECK(contains(refusal({}, "{tttf_p99: 500 ms}"), "did you mean `ttft_p99`?"));
  CHECK(contains(refusal({}, "{gpus: }"), "has no value"));
}

TEST_CASE("a plan reads every latency limit that a run judges") {
  for (const std::string what : {"ttft", "tpot", "itl", "e2e"}) {
    for (const std::string at : {"", "_mean", "_p50", "_p90", "_p95", "_p99"}) {
      const PlanGoal plan = goal({}, "{" + what + at + ": 2 s}");
      REQUIRE(plan.limits.size() == 1);
      const std::string name = what + (at.empty() ? "_p99" : at) + "_ms";
      CHECK(plan.limits[0].excess(metrics(name, 3000)) == doctest::Approx(0.5));
    }
  }
}

TEST_CASE("empty, impossible and contradictory limits are refused") {
  CHECK(contains(limit_refusal({""}), "is no limit"));
  CHECK(contains(limit_refusal({"ttft_p99 <="}), "has no value"));
  CHECK(contains(limit_refusal({"ttft_p99 <= 0 ms"}), "is not above 0"));
  CHECK(contains(limit_refusal({"gpus >= 8", "gpus <= 4"}), "`gpus >= 8` contradicts `gpus <= 4`"));
  CHECK(limit_refusal({"gpus >= 4", "gpus <= 8"}).empty());
}

TEST_CASE("objectives are the largest or the smallest of a figure") {
  GoalRequest request;
  request.minimise = "j_per_token";
  const PlanGoal plan = read_goal(request, {}, false);
  CHECK(plan.score(metrics("j_per_output_token", 1)) >
        plan.score(metrics("j_per_output_token", 2)));
  request.minimise = "tok_per_s";
  CHECK(contains(refusal(request), "one of: gpus, j_per_token"));
  request.minimise = "gpus";
  request.maximise = "tok_per_s";
  CHECK(contains(refusal(request), "are two plans"));
}

TEST_CASE("an open loop has to sustain its rate") {
  const PlanGoal plan = goal({}, "", true);
  REQUIRE(plan.limits.size() == 1);
  CHECK(plan.limits[0].key == "queue_share");
  CHECK(plan.limits[0].bound == kSustained);
  CHECK(goal({"queue_share <= 0.5"}, "", true).limits.size() == 1);
}
