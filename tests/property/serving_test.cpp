// What holds for every pool and workload that the engines may meet.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

const char* draw_engine() {
  const auto count = schedulers().size();
  return schedulers()[*rc::gen::inRange<std::size_t>(0, count)].name;
}

EngineLimits draw_limits() {
  EngineLimits limits;
  limits.page_tokens = *rc::gen::element(1, 16, 64);
  limits.max_running = *rc::gen::inRange<std::int64_t>(1, 100);
  limits.chunk_tokens = *rc::gen::element<std::int64_t>(-1, 64, 300, 8192);
  limits.pool_tokens = *rc::gen::inRange<std::int64_t>(600, 8000);
  limits.sglang.radix_cache = *rc::gen::arbitrary<bool>();
  limits.sglang.overlap = *rc::gen::arbitrary<bool>();
  limits.sglang.mixed_chunk = *rc::gen::arbitrary<bool>();
  limits.simple.reserve_output = *rc::gen::arbitrary<bool>();
  limits.sglang.schedule_conservativeness = *rc::gen::element(0.01, 1.0);
  return limits;
}

WorkloadConfig draw_workload() {
  auto work = closed_loop(*rc::gen::inRange(1, 80), *rc::gen::inRange<std::int64_t>(1, 200),
                          *rc::gen::inRange(1, 200), *rc::gen::inRange(1, 200));
  work.input.law = *rc::gen::element(LengthConfig::Law::fixed, LengthConfig::Law::sglang_uniform);
  work.output.law = *rc::gen::element(LengthConfig::Law::fixed, LengthConfig::Law::sglang_uniform);
  return work;
}

// Memoryless: whatever a request has generated, it ends with the same probability at each token.
std::vector<Request> geometric_requests(std::int64_t count, double mean, std::uint64_t seed) {
  const RandomStream stream(seed, "geometric");
  std::vector<Request> requests;
  for (std::int64_t id = 0; id < count; ++id) {
    Random random = stream.at(static_cast<std::uint64_t>(id));
    const double tokens = std::floor(std::log(random.uniform_open()) / std::log1p(-1 / mean));
    Request request;
    request.id = id;
    request.input_tokens = 10;
    request.output_tokens = 1 + std::min<std::int64_t>(static_cast<std::int64_t>(tokens), 900);
    request.max_new_tokens = request.output_tokens;
    requests.push_back(request);
  }
  return requests;
}

}  // namespace

TEST_CASE("tokens are conserved and KV stays within the pool") {
  CHECK(rc::check("conservation", [] {
    const EngineLimits limits = draw_limits();
    const WorkloadConfig work = draw_workload();
    const Recorder seen = run(draw_engine(), limits, work);
    std::int64_t outputs = 0;
    std::int64_t prompts = 0;
    for (const RequestRecord& record : seen.requests) {
      outputs += record.output_tokens;
      prompts += record.input_tokens;
    }
    RC_ASSERT(static_cast<std::int64_t>(seen.requests.size()) == work.requests);
    RC_ASSERT(seen.output_tokens() == outputs);
    RC_ASSERT(seen.prefill_tokens() == static_cast<double>(prompts + seen.recompute_tokens()));
    RC_ASSERT(seen.peak_kv() <= limits.pool_tokens);
    RC_ASSERT(seen.peak_running() <= limits.max_running);
  }));
}

TEST_CASE("Little's law holds exactly over a whole run") {
  // The time integral of the requests in the engine, from its own books (queued + running, step by
  // step), is the sum of the requests' latencies. Without overlap, so that the books of a step hold
  // over all of its time, and without chunks, whose half-prefilled request neither waits nor runs.
  CHECK(rc::check("L = lambda W", [] {
    EngineLimits limits = draw_limits();
    limits.sglang.overlap = false;
    limits.chunk_tokens = -1;
    const Recorder seen = run(draw_engine(), limits, draw_workload());
    std::int64_t latency_ns = 0;
    for (const RequestRecord& record : seen.requests) {
      latency_ns += (record.finished - record.sent).count();
    }
    std::int64_t integral_ns = 0;
    for (const SeenStep& step : seen.steps) {
      integral_ns += (step.record.queued + step.record.running) *
                     (step.record.end - step.record.start).count();
    }
    RC_ASSERT(integral_ns == latency_ns);
  }));
}

TEST_CASE("more KV never lowers the first wave of equal requests") {
  CHECK(rc::check("first wave", [] {
    EngineLimits limits = draw_limits();
    const WorkloadConfig work =
        closed_loop(80, 80, *rc::gen::inRange(1, 200), *rc::gen::inRange(2, 200));
    const char* engine = draw_engine();
    const auto small = run(engine, limits, work).first_wave();
    limits.pool_tokens += *rc::gen::inRange<std::int64_t>(0, 3000);
    RC_ASSERT(run(engine, limits, work).first_wave() >= small);
  }));
}

TEST_CASE("more KV never lowers the plateau of a memoryless workload") {
  const auto requests = geometric_requests(4000, 60, 3);
  for (const SchedulerEntry& engine : schedulers()) {
    for (const bool reserve : {true, false}) {
      double before = 0;
      for (const std::int64_t pool : {1000, 1400, 2000, 2800, 4000, 5600, 8000}) {
        CAPTURE(engine.name);
        CAPTURE(pool);
        EngineLimits limits;
        limits.pool_tokens = pool;
        limits.max_running = 100;
        limits.simple.reserve_output = reserve;
        limits.sglang.radix_cache = !reserve;
        ListClient client(requests, 100);
        FakeTimer timer(
            [](const StepShape& shape) { return shape.decode_sequences > 0 ? 1.0 : 0; });
        const Recorder seen = run(engine.name, limits, client, timer);
        const double rate = static_cast<double>(seen.output_tokens()) / to_seconds(seen.end);
        CHECK(rate >= before);
        before = rate;
      }
    }
  }
}

TEST_CASE("lengths do not depend on the engine or on the number of clients") {
  const auto lengths_of = [](const Recorder& seen) {
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths(seen.requests.size());
    for (const RequestRecord& record : seen.requests) {
      lengths[static_cast<std::size_t>(record.id)] = {record.input_tokens, record.output_tokens};
    }
    return lengths;
  };
  EngineLimits limits;
  limits.pool_tokens = 3000;
  limits.max_running = 20;
  auto work = closed_loop(7, 100, 90, 50);
  work.input.law = work.output.law = LengthConfig::Law::sglang_uniform;
  const auto few = lengths_of(run("sglang", limits, work));
  work.concurrency = 60;
  CHECK(lengths_of(run("simple", limits, work)) == few);
}
