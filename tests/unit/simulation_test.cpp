// The event kernel: order of events, host gaps with and without overlap, idle time, closed loops.
#include <doctest/doctest.h>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;
using namespace std::chrono_literals;

namespace {

EngineLimits roomy() {
  EngineLimits limits;
  limits.pool_tokens = 100000;
  limits.max_running = 1000;
  return limits;
}

Request request_at(std::int64_t id, SimTime sent, std::int64_t input, std::int64_t output) {
  return {id, input, output, output, sent};
}

// Sends what it is given, when it is given.
struct TimedClient : Client {
  std::vector<Request> requests;
  void start(SendQueue& queue) override {
    for (const Request& request : requests) queue.send(request);
  }
};

}  // namespace

TEST_CASE("events of one instant leave in the order of their pushing, others by time") {
  EventQueue queue;
  queue.push(5ns, Event::Kind::arrival, request_at(0, 5ns, 1, 1));
  queue.push(3ns, Event::Kind::step_end);
  queue.push(5ns, Event::Kind::arrival, request_at(1, 5ns, 1, 1));
  queue.push(5ns, Event::Kind::schedule);
  queue.push(4ns, Event::Kind::step_start);
  CHECK(queue.pop().kind == Event::Kind::step_end);
  CHECK(queue.pop().kind == Event::Kind::step_start);
  CHECK(queue.pop().request.id == 0);
  CHECK(queue.pop().request.id == 1);
  CHECK(queue.pop().kind == Event::Kind::schedule);
  CHECK(queue.empty());
  CHECK_THROWS_AS(queue.pop(), InternalError);
}

TEST_CASE("without overlap the host gap comes before every step") {
  FakeTimer timer([](const StepShape&) { return 10e-3; });
  const HostLaw host{1e-3, 0.5e-3};
  const auto seen = run("simple", roomy(), closed_loop(4, 4, 10, 3), timer, host);
  REQUIRE(seen.steps.size() == 3);  // a prefill and two decode steps
  SimTime start{};
  for (const SeenStep& step : seen.steps) {
    CHECK(step.record.host_gap == 3ms);  // 1 ms + 4 requests
    CHECK(step.record.idle == 0ms);
    CHECK(step.record.start == start + 3ms);
    CHECK(step.record.end == start + 13ms);
    start = step.record.end;
  }
  CHECK(seen.end == 39ms);
  REQUIRE(seen.requests.size() == 4);
  CHECK(seen.requests[0].first_token == 13ms);
  CHECK(seen.requests[0].finished == 39ms);
}

TEST_CASE("with overlap only the host's excess over the GPU time shows") {
  const auto work = closed_loop(4, 4, 10, 6);
  for (const double host_s : {4e-3, 10e-3, 15e-3}) {
    CAPTURE(host_s);
    FakeTimer timer([](const StepShape&) { return 10e-3; });
    const auto seen = run("sglang", roomy(), work, timer, {host_s, 0});
    REQUIRE(seen.steps.size() == 7);  // prefill, 5 decode steps, one more whose tokens are dropped
    CHECK(seen.steps[0].record.host_gap == to_sim_time(host_s));  // nothing to hide behind
    for (std::size_t i = 1; i < seen.steps.size(); ++i) {
      CHECK(seen.steps[i].record.host_gap == to_sim_time(std::max(0.0, host_s - 10e-3)));
      CHECK(seen.steps[i].record.idle == 0ms);
    }
    CHECK(seen.steps[6].record.output_tokens == 0);
    CHECK(seen.end == seen.steps[5].record.end);
    CHECK(seen.output_tokens() == 4 * 6);
  }
}

TEST_CASE("switching the overlap off removes the wasted step and shows the host") {
  EngineLimits limits = roomy();
  limits.sglang.overlap = false;
  FakeTimer timer([](const StepShape&) { return 10e-3; });
  const auto seen = run("sglang", limits, closed_loop(4, 4, 10, 6), timer, {4e-3, 0});
  CHECK(seen.steps.size() == 6);
  for (const SeenStep& step : seen.steps) CHECK(step.record.host_gap == 4ms);
}

TEST_CASE("an engine without work idles until the next request arrives") {
  TimedClient client;
  client.requests = {request_at(0, 0ms, 5, 1), request_at(1, 100ms, 5, 1)};
  FakeTimer timer([](const StepShape&) { return 10e-3; });
  const auto seen = run("simple", roomy(), client, timer, {1e-3, 0});
  REQUIRE(seen.steps.size() == 2);
  CHECK(seen.steps[0].record.idle == 0ms);
  CHECK(seen.steps[0].record.end == 11ms);
  CHECK(seen.steps[1].record.idle == 89ms);
  CHECK(seen.steps[1].record.host_gap == 1ms);
  CHECK(seen.steps[1].record.start == 101ms);
  CHECK(seen.requests[1].sent == 100ms);
}

TEST_CASE("idle time before the first request counts from the start of the run") {
  TimedClient client;
  client.requests = {request_at(0, 30ms, 5, 1)};
  const auto seen = run("sglang", roomy(), client);
  CHECK(seen.steps[0].record.idle == 30ms);
}

TEST_CASE("gaps between tokens: a prefill in between stretches those of the running requests") {
  // Requests 0 and 1 decode; 2 arrives during the first decode step and is prefilled before the
  // second.
  TimedClient client;
  client.requests = {request_at(0, 0ms, 5, 4), request_at(1, 0ms, 5, 4), request_at(2, 25ms, 5, 2)};
  FakeTimer timer([](const StepShape& shape) { return shape.prefill_tokens > 0 ? 20e-3 : 10e-3; });
  const auto seen = run("simple", roomy(), client, timer);
  REQUIRE(seen.steps.size() == 5);
  const auto gaps = [&](std::size_t step) { return seen.steps[step].gaps; };
  CHECK(gaps(0).empty());
  REQUIRE(gaps(1).size() == 1);
  CHECK(gaps(1)[0].gap == 10ms);
  CHECK(gaps(1)[0].count == 2);
  CHECK(seen.steps[2].prefill());
  CHECK(gaps(2).empty());
  REQUIRE(gaps(3).size() == 2);
  CHECK(gaps(3)[0].gap == 30ms);
  CHECK(gaps(3)[0].count == 2);
  CHECK(gaps(3)[1].gap == 10ms);
  CHECK(gaps(3)[1].count == 1);
  CHECK(seen.requests[0].id == 2);  // ends first
}

TEST_CASE("the queue is counted while the step runs") {
  EngineLimits limits = roomy();
  limits.max_running = 3;
  const auto seen = run("simple", limits, closed_loop(10, 10, 5, 2));
  CHECK(seen.steps[0].record.queued == 7);
  CHECK(seen.steps[0].record.running == 3);
}

TEST_CASE("a closed loop of more clients than requests sends what there is") {
  const auto seen = run("sglang", roomy(), closed_loop(50, 7, 10, 3));
  CHECK(seen.requests.size() == 7);
  CHECK(seen.peak_running() == 7);
}

TEST_CASE("a closed loop never has more requests out than clients, and replaces at once") {
  const auto seen = run("sglang", roomy(), closed_loop(5, 23, 10, 3));
  REQUIRE(seen.requests.size() == 23);
  for (const RequestRecord& record : seen.requests) {
    if (record.id < 5) {
      CHECK(record.sent == 0ms);
    } else {
      const auto same =
          std::find_if(seen.requests.begin(), seen.requests.end(),
                       [&](const RequestRecord& other) { return other.finished == record.sent; });
      CHECK(same != seen.requests.end());
    }
  }
}

TEST_CASE("lengths follow their law and depend on the request alone") {
  LengthConfig law{LengthConfig::Law::sglang_uniform, 128, 0.0};
  CHECK(length_range(law).low == 1);
  CHECK(length_range(law).high == 128);
  law.ratio = 0.5;
  CHECK(length_range(law).low == 64);
  law.ratio = 1;
  CHECK(length_range(law).low == 128);
  law = {LengthConfig::Law::vllm_uniform, 128, 0.3};
  CHECK(length_range(law).low == 89);    // floor(89.6)
  CHECK(length_range(law).high == 167);  // ceil(166.4)
  law.ratio = 0;
  CHECK(length_range(law).low == 128);
  CHECK(length_range(law).high == 128);
  law = {LengthConfig::Law::jitter, 128, 0.5};
  CHECK(length_range(law).low == 64);
  CHECK(length_range(law).high == 192);
  law = {LengthConfig::Law::fixed, 77, 0.5};
  CHECK(length_range(law).high == 77);

  law = {LengthConfig::Law::jitter, 128, 0.5};
  const RandomStream stream(7, "input_length");
  std::int64_t low = 1000;
  std::int64_t high = 0;
  double sum = 0;
  for (std::int64_t id = 0; id < 20000; ++id) {
    const std::int64_t drawn = draw_length(law, stream, id);
    CHECK(drawn == draw_length(law, RandomStream(7, "input_length"), id));
    low = std::min(low, drawn);
    high = std::max(high, drawn);
    sum += static_cast<double>(drawn);
  }
  CHECK(low == 64);
  CHECK(high == 192);
  CHECK(sum / 20000 == doctest::Approx(128).epsilon(4 * 37.2 / 128 / 141.4));  // 4 sigma
}

TEST_CASE("a broken invariant names the simulated time and the event") {
  EngineLimits limits = roomy();
  limits.pool_tokens = 10;
  TimedClient client;
  client.requests = {request_at(0, 42ns, 20, 1)};
  try {
    run("simple", limits, client);
    FAIL("served a request larger than the pool");
  } catch (const InternalError& error) {
    const std::string text = error.what();
    CHECK(text.find("42 ns") != std::string::npos);
    CHECK(text.find("arrival") != std::string::npos);
    CHECK(text.find("smaller than one request") != std::string::npos);
  }
}
