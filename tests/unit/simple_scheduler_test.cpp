// The measured engine's rules: full reservation, prefill first, no overlap; and its textbook twin.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

EngineLimits simple(std::int64_t pool, int page) {
  EngineLimits limits;
  limits.pool_tokens = pool;
  limits.page_tokens = page;
  limits.max_running = 4096;
  limits.chunk_tokens = 8192;
  return limits;
}

std::vector<std::map<std::string, std::string>> read_rows(const std::string& path) {
  std::ifstream file(path);
  const auto fields = [](const std::string& line) {
    std::vector<std::string> all;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) all.push_back(field);
    return all;
  };
  std::string line;
  std::getline(file, line);
  const auto names = fields(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const auto values = fields(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
      row[names[i]] = values[i];
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("C9: two requests on ten slots, the later one is retracted once") {
  EngineLimits limits = simple(10, 1);
  limits.simple.reserve_output = false;
  limits.simple.prefill_emits_token = false;
  const auto seen = run("simple", limits, closed_loop(2, 2, 4, 4));
  CHECK(seen.decode_steps() == 7);
  CHECK(seen.output_tokens() == 8);
  CHECK(seen.retracted() == 1);
  CHECK(seen.recompute_tokens() == 5);
  CHECK(seen.prefill_tokens() == 13);
  REQUIRE(seen.requests.size() == 2);
  CHECK(seen.requests[0].retractions == 0);
  CHECK(seen.requests[1].retractions == 1);
}

TEST_CASE("C9: with reservation the same pair is served one after the other") {
  EngineLimits limits = simple(10, 1);
  limits.simple.prefill_emits_token = false;
  const auto seen = run("simple", limits, closed_loop(2, 2, 4, 4));
  CHECK(seen.decode_steps() == 8);
  CHECK(seen.prefill_tokens() == 8);
  CHECK(seen.retracted() == 0);
  CHECK(seen.peak_running() == 1);
}

TEST_CASE("the reservation counts whole pages: probes just below and at the wall") {
  // 128 + 1 tokens take three pages of 64.
  CHECK(run("simple", simple(6 * 64, 64), closed_loop(9, 9, 128, 1)).peak_running() == 2);
  CHECK(run("simple", simple(9 * 64 - 1, 64), closed_loop(9, 9, 128, 1)).peak_running() == 2);
  CHECK(run("simple", simple(9 * 64, 64), closed_loop(9, 9, 128, 1)).peak_running() == 3);
}

TEST_CASE("a prefill batch holds at most the chunk's prompt tokens, but one request always") {
  EngineLimits limits = simple(100000, 64);
  limits.chunk_tokens = 1000;
  const auto small = run("simple", limits, closed_loop(10, 10, 300, 2));
  CHECK(small.prefill_steps() == 4);  // 3 + 3 + 3 + 1
  CHECK(small.steps[0].shape.prefill_sequences == 3);
  const auto large = run("simple", limits, closed_loop(4, 4, 3000, 2));
  CHECK(large.prefill_steps() == 4);
  CHECK(large.steps[0].shape.prefill_tokens == 3000);
  CHECK(large.steps[0].shape.prefill_context_tokens == 3000);
  CHECK(large.steps[0].shape.prefill_attended == 3000 * 3001 / 2);
}

TEST_CASE("continuous decode steps postpone the look at the queue, not past an ending") {
  // Request 0 decodes alone for long; others arrive one by one while it does.
  struct Late : Client {
    void start(SendQueue& queue) override {
      queue.send({0, 10, 100, 100, SimTime{}});
      queue.send({1, 10, 2, 2, std::chrono::microseconds(1500)});
    }
  };
  for (const int n : {1, 4, 16}) {
    CAPTURE(n);
    EngineLimits limits = simple(100000, 1);
    limits.num_continuous_decode_steps = n;
    Late client;
    const auto seen = run("simple", limits, client);
    // It arrives during the first decode step; n steps run before the queue is looked at.
    std::int64_t decoded = 0;
    for (const SeenStep& step : seen.steps) {
      if (step.record.new_requests > 0 && decoded > 0) break;
      if (step.decode()) ++decoded;
    }
    CHECK(decoded == n);
    REQUIRE(seen.requests.size() == 2);
    CHECK(seen.requests[0].id == 1);
  }
}

TEST_CASE("continuous decode steps stop when a request ends") {
  EngineLimits limits = simple(20, 1);  // one request at a time
  limits.num_continuous_decode_steps = 50;
  const auto seen = run("simple", limits, closed_loop(3, 3, 10, 5));
  CHECK(seen.decode_steps() == 3 * 4);
  CHECK(seen.steps.size() == 3 * 5);
}

TEST_CASE("the measured engine's batches and steps are reproduced") {
  const std::string path =
      std::string(PLATEAU_SOURCE_DIR) + "/../shared/data/h200-measured/serving_runs.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no measured runs at " << path);
    return;
  }
  const auto rows = read_rows(path);
  REQUIRE(rows.size() >= 8);
  for (const auto& row : rows) {
    const auto number = [&](const char* name) {
      return row.at(name).empty() ? 0.0 : std::stod(row.at(name));
    };
    const auto whole = [&](const char* name) { return static_cast<int>(number(name)); };
    EngineLimits limits = simple(whole("kv_tokens"), whole("page_tokens"));
    limits.max_running = whole("max_running");
    limits.chunk_tokens = whole("prefill_chunk_tokens");
    limits.num_continuous_decode_steps = whole("num_continuous_decode_steps");
    auto work = closed_loop(whole("concurrency"), whole("requests"), whole("isl_tokens"),
                            whole("osl_tokens"));
    const bool jitter = number("osl_jitter") > 0;
    if (jitter) work.output = {LengthConfig::Law::jitter, work.output.tokens, number("osl_jitter")};
    CAPTURE(row.at("model"));
    CAPTURE(work.concurrency);
    if (!jitter) {
      const auto seen = run("simple", limits, work);
      CHECK(seen.decode_steps() == whole("decode_steps"));
      CHECK(seen.prefill_steps() == whole("prefill_batches"));
      CHECK(seen.peak_running() == whole("peak_running"));
      CHECK(seen.mean_running() == doctest::Approx(number("mean_running")).epsilon(1e-9));
      continue;
    }
    // Its lengths are not known, only their law: the run must lie among those of other seeds.
    double low[4] = {1e9, 1e9, 1e9, 1e9};
    double high[4] = {};
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto seen = run("simple", limits, work, FakeTimer(), {}, seed);
      const double values[4] = {static_cast<double>(seen.decode_steps()),
                                static_cast<double>(seen.prefill_steps()),
                                static_cast<double>(seen.peak_running()), seen.mean_running()};
      for (int i = 0; i < 4; ++i) {
        low[i] = std::min(low[i], values[i]);
        high[i] = std::max(high[i], values[i]);
      }
    }
    const double measured[4] = {number("decode_steps"), number("prefill_batches"),
                                number("peak_running"), number("mean_running")};
    for (int i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(measured[i] >= low[i]);
      CHECK(measured[i] <= high[i]);
    }
  }
}
