#include "sim/report/trace_writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibration/input_error.h"
#include "tests/support/fake_run.h"
#include "tests/support/scenario_text.h"

using namespace plateau;
using Json = nlohmann::json;

namespace {

Json read_json(const std::string& path) { return Json::parse(std::ifstream(path)); }

std::int64_t ns(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1e3); }

std::vector<Json> events_of(const Json& trace, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

test::FakeStep step_of(SimTime length, double decode, double prefill, std::int64_t first_tokens) {
  test::FakeStep step;
  step.length = length;
  step.decode = decode;
  step.prefill = prefill;
  step.running = 3;
  step.output_tokens = 3;
  step.new_requests = first_tokens;
  step.parts = {{Part::moe, 1.0 / 3}, {Part::attention, 1.0 / 3}, {Part::lm_head, 1.0 / 3}};
  return step;
}

}  // namespace

using namespace std::chrono_literals;

TEST_CASE("trace: the parts of a step lie inside it and fill it, steps do not overlap") {
  const test::TemporaryFolder folder;
  TraceOptions options;
  options.path = folder.path("trace.json");
  options.title = "a \"quoted\" engine";
  options.host_gap_w = 77;
  TraceWriter writer(options);
  test::FakeRun run(writer);
  for (int i = 0; i < 20; ++i) {
    test::FakeStep step = step_of(1000001ns + i * 7ns, 3, i % 5 == 0 ? 10 : 0, i == 0 ? 3 : 0);
    step.host_gap = i % 2 == 0 ? 1003ns : 0ns;
    run.step(step);
  }
  run.finish(0ns, 1001004ns, 10, 20, 3);
  run.end();
  writer.close();
  const Json trace = read_json(options.path);
  CHECK(trace["otherData"]["steps"] == 20);
  CHECK(trace["otherData"]["requests_drawn"] == 3);
  std::int64_t step_end = 0, part_end = 0;
  int steps = 0, gaps = 0;
  for (const Json& slice : events_of(trace, "X")) {
    const std::string name = slice["name"];
    const std::int64_t start = ns(slice["ts"]), end = start + ns(slice["dur"]);
    if (name == "decode" || name == "mixed") {
      ++steps;
      if (steps > 1) CHECK(part_end == step_end);  // the last step's parts fill it
      CHECK(start >= step_end);
      step_end = end;
      part_end = start;
    } else if (name == "host gap") {
      ++gaps;
      CHECK(start >= step_end);
      CHECK(slice["args"]["gpu_w"] == 77);
    } else {
      CHECK(start == part_end);
      CHECK(end <= step_end);
      part_end = end;
    }
  }
  CHECK(steps == 20);
  CHECK(gaps == 10);
  CHECK(part_end == step_end);
  CHECK(trace["traceEvents"][0]["args"]["name"] == options.title);
}

TEST_CASE("trace: a request's queued, prefill and decode follow each other inside it") {
  const test::TemporaryFolder folder;
  TraceOptions options;
  options.path = folder.path("trace.json");
  TraceWriter writer(options);
  test::FakeRun run(writer);
  run.step(step_of(5ms, 0, 10, 0));  // the first chunk
  run.step(step_of(7ms, 0, 10, 3));
  run.step(step_of(2ms, 3, 0, 0));
  run.finish(1ms, 12ms, 20, 2, 1);
  run.finish(9ms, 12ms, 20, 2, 1);  // sent while its prefill ran: never waits for less than nothing
  run.end();
  writer.close();
  const Json trace = read_json(options.path);
  std::map<std::string, std::vector<std::string>> open;
  std::map<std::string, std::int64_t> at;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "b" && event["ph"] != "e") continue;
    const std::string id = event["id"], name = event["name"];
    CHECK(ns(event["ts"]) >= at[id]);
    at[id] = ns(event["ts"]);
    if (event["ph"] == "b") {
      open[id].push_back(name);
      at[id + name] = ns(event["ts"]);
    } else {
      REQUIRE_FALSE(open[id].empty());
      CHECK(open[id].back() == name);
      open[id].pop_back();
    }
  }
  CHECK(open["0"].empty());
  CHECK(at["0request"] == 1'000'000);
  CHECK(at["0prefill"] == 5'000'000);
  CHECK(at["0decode"] == 12'000'000);
  CHECK(at["0"] == 14'000'000);
  CHECK(at["1prefill"] == 9'000'000);
}

TEST_CASE("trace: an engine whose prefill emits no token still shows the prefill") {
  const test::TemporaryFolder folder;
  TraceOptions options;
  options.path = folder.path("trace.json");
  TraceWriter writer(options);
  test::FakeRun run(writer);
  run.step(step_of(5ms, 0, 10, 0));
  run.step(step_of(2ms, 3, 0, 3));
  run.finish(0ms, 7ms, 10, 1, 1);
  run.end();
  writer.close();
  for (const Json& event : events_of(read_json(options.path), "e")) {
    if (event["name"] == "prefill") CHECK(ns(event["ts"]) == 5'000'000);
  }
}

TEST_CASE("trace: caps leave the rest out and say how much") {
  const test::TemporaryFolder folder;
  TraceOptions options;
  options.path = folder.path("trace.json");
  options.steps = 2;
  options.requests = 1;
  TraceWriter writer(options);
  test::FakeRun run(writer);
  for (int i = 0; i < 5; ++i) run.step(step_of(1ms, 3, 0, i == 0 ? 3 : 0));
  run.finish(0ms, 1ms, 10, 5, 3);
  run.end();
  CHECK_FALSE(std::filesystem::exists(options.path));
  writer.close();
  const Json trace = read_json(options.path);
  CHECK(trace["otherData"]["steps"] == 5);
  CHECK(trace["otherData"]["steps_drawn"] == 2);
  CHECK(trace["otherData"]["requests"] == 3);
  CHECK(trace["otherData"]["requests_drawn"] == 1);
  CHECK(trace["otherData"]["requests_without_prefill_slice"] == 1);  // nothing was prefilled here
}

TEST_CASE("trace: an interrupted run leaves no file, an impossible path is said") {
  const test::TemporaryFolder folder;
  TraceOptions options;
  options.path = folder.path("trace.json");
  {
    TraceWriter writer(options);
    test::FakeRun run(writer);
    run.step(step_of(1ms, 3, 0, 0));
  }
  CHECK(std::filesystem::is_empty(folder.path("")));
  options.path = folder.path("nowhere/trace.json");
  CHECK_THROWS_AS(TraceWriter{options}, InputError);
}
