// Does the engine meet theory where theory exists? The KV wall, Little's law, queues.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

EngineLimits textbook(std::int64_t pool, int page) {
  EngineLimits limits;
  limits.pool_tokens = pool;
  limits.page_tokens = page;
  limits.max_running = 100000;
  limits.chunk_tokens = -1;
  limits.simple.prefill_emits_token = false;  // an output of n tokens takes n decode steps
  return limits;
}

// Prefill is free: only decode steps take time.
FakeTimer decode_only(double step_seconds) {
  return FakeTimer([step_seconds](const StepShape& shape) {
    return shape.decode_sequences > 0 ? step_seconds : 0.0;
  });
}

std::int64_t wall(std::int64_t pool, int page) {
  return run("simple", textbook(pool, page), closed_loop(3000, 3000, 128, 128)).peak_running();
}

// Arrivals by a Poisson process; lengths as a function of the request.
class PoissonClient : public Client {
 public:
  using Lengths = std::function<Request(std::int64_t id)>;
  PoissonClient(double rate, std::int64_t requests, Lengths lengths)
      : rate_(rate), requests_(requests), lengths_(std::move(lengths)), stream_(11, "arrivals") {}
  void start(SendQueue& queue) override { send_next(queue); }
  void on_sent(const Request&, SendQueue& queue) override { send_next(queue); }

 private:
  void send_next(SendQueue& queue) {
    if (sent_ == requests_) return;
    Random random = stream_.at(static_cast<std::uint64_t>(sent_));
    seconds_ += exponential(random, 1 / rate_);
    Request request = lengths_(sent_);
    request.id = sent_++;
    request.max_new_tokens = request.output_tokens;
    request.sent = to_sim_time(seconds_);
    queue.send(request);
  }
  double rate_;
  std::int64_t requests_;
  Lengths lengths_;
  RandomStream stream_;
  double seconds_ = 0;
  std::int64_t sent_ = 0;
};

// Adds up waits without keeping the requests.
struct WaitMeter : Observer {
  double sum = 0;
  std::int64_t count = 0;
  double service_s_per_output = 0;  // decode seconds of an output token
  void on_request_finished(const RequestRecord& record) override {
    const double service = service_s_per_output * static_cast<double>(record.output_tokens);
    sum += to_seconds(record.finished - record.sent) - service;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
};

// One slot; a request is served by its prefill alone, a millisecond a token.
double one_slot_latency(PoissonClient::Lengths lengths, std::int64_t requests) {
  EngineLimits limits;
  limits.pool_tokens = 1000000;
  limits.max_running = 1;
  PoissonClient client(0.8, requests, std::move(lengths));
  FakeTimer timer([](const StepShape& shape) { return shape.prefill_tokens * 1e-3; });
  WaitMeter meter;
  const auto engine = make_scheduler("simple", limits);
  Simulation(*engine, client, timer, {}, {&meter}).run();
  return meter.mean();
}

}  // namespace

TEST_CASE("C4: full reservation admits floor(pool / (prompt + output))") {
  CHECK(wall(495488, 1) == 1935);
  CHECK(wall(256 * 1935, 1) == 1935);
  CHECK(wall(256 * 1935 - 1, 1) == 1934);
}

TEST_CASE("C4: with pages it is floor(pool / page) div ceil(length / page)") {
  CHECK(wall(495488, 64) == 1935);  // 7742 pages, four each
  CHECK(wall(7740 * 64, 64) == 1935);
  CHECK(wall(7740 * 64 - 1, 64) == 1934);
  CHECK(wall(7744 * 64, 64) == 1936);
  CHECK(wall(495488, 100) == 4954 / 3);
}

TEST_CASE("C4: a cap above the wall does not bind, one below does") {
  EngineLimits limits = textbook(495488, 64);
  limits.max_running = 2048;
  CHECK(run("simple", limits, closed_loop(3000, 3000, 128, 128)).peak_running() == 1935);
  limits.max_running = 1000;
  CHECK(run("simple", limits, closed_loop(3000, 3000, 128, 128)).peak_running() == 1000);
}

TEST_CASE("C4: on current need, evenly staggered requests fit up to pool / mean length") {
  // A request is stored with 128 + k tokens in its k-th step: 192.5 on average, 2573 of them.
  struct Staggered : Client {
    std::int64_t clients = 0;
    std::int64_t rounds = 0;
    std::int64_t next = 0;
    void start(SendQueue& queue) override {
      for (std::int64_t i = 0; i < clients; ++i) {  // ages spread over a life of 128 steps
        queue.send(make(std::chrono::seconds(i * 128 / clients)));
      }
    }
    void on_finished(const RequestRecord& record, SendQueue& queue) override {
      if (next < clients * rounds) queue.send(make(record.finished));
    }
    Request make(SimTime sent) { return {next++, 128, 128, 128, sent}; }
  };
  const auto retractions = [](std::int64_t clients) {
    EngineLimits limits = textbook(495488, 1);
    limits.simple.reserve_output = false;
    Staggered client;
    client.clients = clients;
    client.rounds = 3;
    const auto seen = run("simple", limits, client, decode_only(1.0));
    if (seen.retracted() == 0) CHECK(seen.peak_running() == clients);
    return seen.retracted();
  };
  CHECK(retractions(2573) == 0);
  CHECK(retractions(2580) > 0);
}

TEST_CASE("C5: closed loop above the wall: tokens/s = N / step time, L = lambda W") {
  const double step = 1935.0 / 2095;  // 0.92363 s
  const std::int64_t waves = 40;
  const auto seen = run("simple", textbook(495488, 64), closed_loop(3072, 1935 * waves, 128, 128),
                        decode_only(step));
  const double seconds = to_seconds(seen.end);
  CHECK(static_cast<double>(seen.output_tokens()) / seconds == doctest::Approx(2095).epsilon(1e-6));
  const double rate = 1935 / (128 * step);
  CHECK(rate == doctest::Approx(16.367).epsilon(1e-4));
  // In service: lambda W = 1935. In all: mean total time 3072 / lambda = 187.7 s, away from the
  // start, when nobody waits, and from the drain.
  double service = 0;
  double total = 0;
  double counted = 0;
  for (const RequestRecord& record : seen.requests) {
    if (record.id < 3072 || record.id >= 1935 * (waves - 4)) continue;
    service += to_seconds(record.finished - record.first_token) + step;
    total += to_seconds(record.finished - record.sent);
    counted += 1;
  }
  CHECK(service / counted == doctest::Approx(118.224).epsilon(1e-4));
  CHECK(rate * service / counted == doctest::Approx(1935).epsilon(1e-4));
  CHECK(total / counted == doctest::Approx(187.7).epsilon(0.005));
}

TEST_CASE("C5: with a step of a + b N the plateau tends to 1 / b") {
  const double a = 0.05;
  const double b = 1e-4;
  double before = 0;
  for (const std::int64_t requests_that_fit : {100, 1000, 10000, 60000}) {
    const auto n = static_cast<double>(requests_that_fit);
    const auto clients = static_cast<int>(requests_that_fit);
    FakeTimer timer([&](const StepShape& shape) {
      return shape.decode_sequences > 0 ? a + b * shape.decode_sequences : 0;
    });
    const auto seen = run("simple", textbook(256 * requests_that_fit, 64),
                          closed_loop(clients + 50, 2 * requests_that_fit, 128, 128), timer);
    const double rate = static_cast<double>(seen.output_tokens()) / to_seconds(seen.end);
    CHECK(rate == doctest::Approx(n / (a + b * n)).epsilon(1e-6));
    CHECK(rate > before);
    CHECK(rate < 1 / b);
    before = rate;
  }
  CHECK(before > 0.99 / b);
}

TEST_CASE("C6: one slot and Poisson arrivals wait as M/D/1 and M/M/1 do") {
  const double fixed = one_slot_latency(
      [](std::int64_t) {
        Request request;
        request.input_tokens = 1000;
        request.output_tokens = 1;
        return request;
      },
      1000000);
  CHECK(fixed - 1 == doctest::Approx(2.0).epsilon(0.03));
  const RandomStream stream(5, "service");
  const double exponential_lengths = one_slot_latency(
      [&](std::int64_t id) {
        Random random = stream.at(static_cast<std::uint64_t>(id));
        Request request;
        request.input_tokens = 1 + std::llround(exponential(random, 999.5));
        request.output_tokens = 1;
        return request;
      },
      1000000);
  CHECK(exponential_lengths - 1 == doctest::Approx(4.0).epsilon(0.03));
}

TEST_CASE("C6: ten slots wait as Erlang C says, plus half a step") {
  const double step = 0.02;
  EngineLimits limits = textbook(1000000000, 1);
  limits.max_running = 10;
  const RandomStream stream(6, "service");
  PoissonClient client(8, 1000000, [&](std::int64_t id) {
    Random random = stream.at(static_cast<std::uint64_t>(id));
    Request request;
    request.input_tokens = 1;
    request.output_tokens = 1 + static_cast<std::int64_t>(exponential(random, 1 / step - 0.5));
    return request;
  });
  FakeTimer timer = decode_only(step);
  WaitMeter meter;
  meter.service_s_per_output = step;
  const auto engine = make_scheduler("simple", limits);
  Simulation(*engine, client, timer, {}, {&meter}).run();
  CHECK(meter.mean() - step / 2 == doctest::Approx(0.20459).epsilon(0.03));
}
