// The shipped open-loop clients against queueing theory: one slot, service by prefill alone.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/engine/open_loop.h"
#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

using Client_ = WorkloadConfig::Client;

WorkloadConfig arrivals(Client_ client, double rate, std::int64_t requests, int input) {
  WorkloadConfig workload;
  workload.client = client;
  workload.request_rate = rate;
  workload.requests = requests;
  workload.input.tokens = input;
  workload.output.tokens = 1;
  return workload;
}

// The arrivals as they are, prompts exponential with the same mean.
class ExponentialPrompts : public RequestSource {
 public:
  explicit ExponentialPrompts(const WorkloadConfig& workload)
      : arrivals_(workload, 5), mean_(workload.input.tokens), stream_(5, "exponential_prompts") {}
  std::optional<Request> next() override {
    auto request = arrivals_.next();
    if (!request) return request;
    Random random = stream_.at(static_cast<std::uint64_t>(request->id));
    request->input_tokens = std::max<std::int64_t>(1, std::llround(exponential(random, mean_)));
    return request;
  }

 private:
  RandomArrivals arrivals_;
  double mean_;
  RandomStream stream_;
};

struct Seen : Observer {
  double wait = 0;
  double latency = 0;
  std::int64_t count = 0;
  double in_engine = 0;  // request-seconds, by steps
  SimTime end{};
  double seconds_per_token = 0;
  void on_step(const StepRecord& step) override {
    in_engine +=
        static_cast<double>(step.running + step.queued) * to_seconds(step.end - step.start);
  }
  void on_request_finished(const RequestRecord& record) override {
    const double all = to_seconds(record.finished - record.sent);
    wait += all - seconds_per_token * static_cast<double>(record.input_tokens);
    latency += all;
    ++count;
    end = record.finished;
  }
  double mean_wait() const { return wait / static_cast<double>(count); }
};

// A token of a prompt takes a millisecond.
Seen one_slot(std::unique_ptr<RequestSource> source) {
  EngineLimits limits;
  limits.pool_tokens = 1'000'000;
  limits.max_running = 1;
  limits.chunk_tokens = -1;
  const auto engine = make_scheduler("simple", limits);
  OpenLoopClient client(std::move(source));
  FakeTimer timer([](const StepShape& shape) { return 1e-3 * shape.prefill_tokens; });
  Seen seen;
  seen.seconds_per_token = 1e-3;
  Simulation(*engine, client, timer, {}, {&seen}).run();
  return seen;
}

// Mean wait of G/M/1 with gamma gaps: sigma / (mu (1 - sigma)), sigma the root of
// sigma = (1 + mu (1 - sigma) / (rate shape))^-shape.
double gamma_m_1_wait(double rate, double shape, double mu) {
  double sigma = 0.5;
  for (int i = 0; i < 10'000; ++i) sigma = std::pow(1 + mu * (1 - sigma) / (rate * shape), -shape);
  return sigma / (mu * (1 - sigma));
}

}  // namespace

TEST_CASE("C6: the Poisson client waits as M/D/1 and M/M/1 do") {
  // Utilisation 0.8, a second of service: 2 s and 4 s. 300,000 arrivals: one standard error of the
  // mean wait is about 1 % (deterministic) and 2 % (exponential) at this correlation.
  const auto fixed = arrivals(Client_::poisson, 0.8, 300'000, 1000);
  CHECK(one_slot(std::make_unique<RandomArrivals>(fixed, 5)).mean_wait() ==
        doctest::Approx(2.0).epsilon(0.04));
  CHECK(one_slot(std::make_unique<ExponentialPrompts>(fixed)).mean_wait() ==
        doctest::Approx(4.0).epsilon(0.06));
}

TEST_CASE("C6: bursty and even gamma arrivals wait as G/M/1 does") {
  CHECK(gamma_m_1_wait(0.8, 1, 1) == doctest::Approx(4.0));
  for (const double shape : {0.25, 4.0}) {
    auto workload = arrivals(Client_::gamma, 0.7, 300'000, 1000);
    workload.burstiness = shape;
    CHECK(one_slot(std::make_unique<ExponentialPrompts>(workload)).mean_wait() ==
          doctest::Approx(gamma_m_1_wait(0.7, shape, 1)).epsilon(0.06));
  }
}

TEST_CASE("Little's law: requests in an engine under open load = rate x time in it") {
  const Seen seen =
      one_slot(std::make_unique<RandomArrivals>(arrivals(Client_::poisson, 0.8, 50'000, 1000), 5));
  const double seconds = to_seconds(seen.end);
  const double rate = static_cast<double>(seen.count) / seconds;
  const double mean_latency = seen.latency / static_cast<double>(seen.count);
  // The queue is read when a step starts; who comes during it waits half a step unseen.
  const double unseen = rate * 0.5 * 0.8;
  CHECK(seen.in_engine / seconds + unseen == doctest::Approx(rate * mean_latency).epsilon(0.02));
}
