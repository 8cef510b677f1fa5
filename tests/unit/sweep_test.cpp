// Rows of a sweep: what a point becomes, whoever computes it.
#include "sim/sweep/sweep.h"

#include <doctest/doctest.h>

#include <map>

#include "sim/deployment/remembered_costs.h"
#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"
#include "sim/sweep/figures.h"

using namespace plateau;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;

SweepRequest request(std::vector<std::string> vary) {
  SweepRequest result;
  result.scenario = kRoot + "/scenarios/qwen3-30b-a3b-1x-h200.yaml";
  result.options.data_dir = kRoot;
  result.options.sets = {"workload.requests=24", "workload.concurrency=12",
                         "workload.output_length=16 tokens"};
  result.space.vary = std::move(vary);
  return result;
}

std::map<std::int64_t, std::string> rows_of(Sweep& sweep, int threads) {
  std::vector<std::int64_t> points;
  for (std::int64_t i = 0; i < sweep.space().size(); ++i) points.push_back(i);
  std::map<std::int64_t, std::string> rows;
  compute_rows(sweep, points, threads,
               [&](std::int64_t point, std::string line) { rows[point] = std::move(line); });
  return rows;
}

}  // namespace

TEST_CASE("a row is the run of its scenario with the values set") {
  Sweep sweep(request({"workload.concurrency=3,9"}));
  PointRunner runner = sweep.runner();
  const SweepRow row = sweep.row(1, runner);
  REQUIRE(row.ok);
  ScenarioOptions options = request({}).options;
  options.sets.emplace_back("workload.concurrency=9");
  const Scenario scenario = read_scenario(request({}).scenario, options);
  Deployment deployment(scenario, kRoot);
  const Report report = run(deployment);
  for (std::size_t i = 0; i < figures().size(); ++i) {
    CAPTURE(figures()[i].name);
    CHECK(row.cells[i] == digits_of(figures()[i].value(report)));
  }
  CHECK(row.cells[sweep.numbers()] == report.binding.constraint);
}

TEST_CASE("rows are the same on one thread and on three, and in any order of points") {
  const std::vector<std::string> vary = {"workload.concurrency=1..24:8", "seed=1,2",
                                         "parallel.tp=1,3"};
  Sweep one(request(vary));
  Sweep three(request(vary));
  const auto rows = rows_of(one, 1);
  CHECK(rows == rows_of(three, 3));
  PointRunner runner = one.runner();
  for (std::int64_t i = one.space().size(); i-- > 0;)
    CHECK(line_of(one.row(i, runner)) == rows.at(i));
}

TEST_CASE("a point that cannot be is a row with its reason") {
  Sweep sweep(request({"parallel.tp=1,3"}));
  PointRunner runner = sweep.runner();
  const SweepRow row = sweep.row(1, runner);
  CHECK_FALSE(row.ok);
  CHECK(row.reason.find("parallel.tp: 32 attention heads cannot be split over 3 GPUs") !=
        std::string::npos);
  CHECK(row.cells == std::vector<std::string>(sweep.columns().size()));
  CHECK(sweep.row(0, runner).ok);
}

TEST_CASE("keys that do not exist and values that cannot be read end a sweep before it starts") {
  CHECK_THROWS_WITH_AS(Sweep(request({"workload.concurency=1,2"})),
                       doctest::Contains("did you mean `workload.concurrency`"), InputError);
  CHECK_THROWS_WITH_AS(Sweep(request({"hardware.power_limit=400..600:3"})),
                       doctest::Contains("has no unit"), InputError);
  CHECK_THROWS_AS(Sweep(request({"engine.kv_cache_dtype=fp8_e4m3", "workload.client=nobody"})),
                  InputError);
}

TEST_CASE("a line reads back as its row") {
  SweepRow row;
  row.ok = true;
  row.cells = {"1.5", "", "kv_pool"};
  SweepRow read = row_of(line_of(row));
  CHECK(read.ok);
  CHECK(read.cells == row.cells);
  row.ok = false;
  row.reason = "two\nlines\tand a tab";
  read = row_of(line_of(row));
  CHECK_FALSE(read.ok);
  CHECK(read.reason == "two lines and a tab");
  CHECK(read.cells == row.cells);
}

TEST_CASE("the fingerprint of a sweep changes with everything that its rows depend on") {
  const auto print = [](const SweepRequest& asked) { return Sweep(asked).fingerprint(); };
  const SweepRequest base = request({"workload.concurrency=1,2"});
  CHECK(print(base) == print(base));
  SweepRequest other = base;
  other.options.sets.emplace_back("workload.input_length=64 tokens");
  CHECK(print(other) != print(base));
  other = base;
  other.space.vary = {"workload.concurrency=1,3"};
  CHECK(print(other) != print(base));
  other = base;
  other.options.seed = 7;
  CHECK(print(other) != print(base));
  other = base;
  other.repetitions = 3;
  CHECK(print(other) != print(base));
  other = base;
  other.space.way = SpaceRequest::Way::zip;
  CHECK(print(other) != print(base));
}

TEST_CASE("an error of put stops the threads and leaves compute_rows") {
  Sweep sweep(request({"workload.concurrency=1..24:24"}));
  std::vector<std::int64_t> points;
  for (std::int64_t i = 0; i < sweep.space().size(); ++i) points.push_back(i);
  int calls = 0;
  const auto put = [&](std::int64_t, const std::string&) {
    if (++calls == 3) throw InputError(Problem{"", 0, 0, "", "disk full", ""});
  };
  CHECK_THROWS_AS(compute_rows(sweep, points, 2, put), InputError);
  CHECK(calls == 3);
}

TEST_CASE("remembered prices are the profile's own") {
  const ScenarioOptions options = request({}).options;
  const Scenario scenario = read_scenario(request({}).scenario, options);
  const auto profile = load_profile_of(scenario, kRoot);
  const RememberedCosts remembered(profile);
  Deployment deployment(scenario, profile, make_routing(scenario));
  for (int round = 0; round < 2; ++round) {
    for (const double batch : {1.0, 3.0, 12.0, 64.0}) {
      for (const OpLine& line : deployment.price(deployment.decode_shape(batch, 100 + batch))) {
        const OpCost cost = remembered.cost(line.call);
        CHECK(cost.seconds.value == line.each.seconds.value);
        CHECK(cost.watts.high == line.each.watts.high);
      }
    }
  }
}
