// The keys of open loops: which belong to which client, and what is said when they do not.
#include <doctest/doctest.h>

#include "tests/support/scenario_text.h"

using namespace plateau;
using namespace plateau::test;

namespace {

std::string scenario(const std::string& workload) {
  return "model: glm\nhardware: {device: x, interconnect: pcie}\nparallel: {tp: 8}\n"
         "engine: {kind: sglang, version: 2026-02}\nrouting: {law: uniform}\n"
         "calibration: {profile: p}\nworkload:\n" +
         workload;
}

Scenario read(const std::string& workload) {
  const TemporaryFolder folder;
  return read_scenario(folder.write("s.yaml", scenario(workload)), small_options());
}

std::string problems_of(const std::string& workload) {
  try {
    read(workload);
  } catch (const InputError& error) {
    std::string text;
    for (const Problem& problem : error.problems())
      text += problem.key + ": " + problem.message + " (" + problem.hint + ")\n";
    return text;
  }
  return "";
}

const std::string kLengths = "  requests: 9\n  input_length: 5 tokens\n  output_length: 5 tokens\n";

}  // namespace

TEST_CASE("open-loop keys: Poisson, gamma and trace read") {
  const auto poisson = read("  client: poisson\n  request_rate: 120 requests/min\n" + kLengths);
  CHECK(poisson.workload.client == WorkloadConfig::Client::poisson);
  CHECK(*poisson.workload.request_rate == 2.0);
  const auto bursty =
      read("  client: gamma\n  request_rate: 3 req/s\n  burstiness: 0.25\n" + kLengths);
  CHECK(bursty.workload.client == WorkloadConfig::Client::gamma);
  CHECK(bursty.workload.burstiness == 0.25);
  const auto trace = read("  client: trace\n  trace: t.csv\n  rate_scale: 2\n  oversized: drop\n");
  CHECK(trace.workload.trace.substr(trace.workload.trace.size() - 6) == "/t.csv");
  CHECK(trace.workload.rate_scale == 2);
  CHECK(trace.workload.drop_oversized);
  CHECK_FALSE(trace.workload.requests_given);
  CHECK(read("  client: trace\n  trace: t.csv\n  requests: 7\n").workload.requests == 7);
}

TEST_CASE("open-loop keys: one that belongs to another client is refused") {
  CHECK(problems_of("  client: poisson\n" + kLengths) ==
        "workload.request_rate: is missing (write request_rate: 4 requests/s)\n");
  CHECK(problems_of("  client: poisson\n  request_rate: 4 requests/s\n  concurrency: 8\n" +
                    kLengths) ==
        "workload.concurrency: an open loop has no number of clients (remove it (`~` takes an "
        "inherited one away), or write client: closed_loop)\n");
  CHECK(
      problems_of("  client: gamma\n  request_rate: 4 requests/s\n" + kLengths) ==
      "workload.burstiness: is missing (the gamma shape: 1 is Poisson, below 1 comes in bursts)\n");
  CHECK(problems_of("  client: trace\n  trace: t.csv\n  input_length: 5 tokens\n") ==
        "workload.input_length: a trace has its own lengths (remove it (`~` takes an inherited one "
        "away))\n");
  CHECK(
      problems_of("  client: trace\n  trace: t.csv\n  request_rate: 5 requests/s\n") ==
      "workload.request_rate: a trace has its own rate (write rate_scale: 2 for twice the load)\n");
  CHECK(problems_of("  concurrency: 5\n  trace: t.csv\n  rate_scale: 2\n" + kLengths) ==
        "workload.trace: only client: trace reads a trace ()\n"
        "workload.rate_scale: only client: trace reads a trace ()\n");
  CHECK(problems_of("  client: poisson\n  request_rate: 4 requests/s\n  requests: 3 per client\n"
                    "  input_length: 5 tokens\n  output_length: 5 tokens\n") ==
        "workload.requests: an open loop has no number of clients (write a count)\n");
}
