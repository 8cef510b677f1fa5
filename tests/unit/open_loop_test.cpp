// Open-loop clients: when they send, what they send, and that few events are pending.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/engine/open_loop.h"
#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

WorkloadConfig open_loop(WorkloadConfig::Client client, double rate, std::int64_t requests) {
  WorkloadConfig workload;
  workload.client = client;
  workload.request_rate = rate;
  workload.requests = requests;
  workload.input.tokens = 4;
  workload.output.tokens = 2;
  return workload;
}

// Mean and squared coefficient of variation of the gaps.
std::pair<double, double> gaps_of(const WorkloadConfig& workload) {
  RandomArrivals arrivals(workload, 3);
  double last = to_seconds(arrivals.next()->sent);
  CHECK(last == 0);
  double sum = 0;
  double squares = 0;
  double n = 0;
  while (const auto request = arrivals.next()) {
    const double gap = to_seconds(request->sent) - last;
    last += gap;
    sum += gap;
    squares += gap * gap;
    ++n;
  }
  const double mean = sum / n;
  return {mean, squares / n / (mean * mean) - 1};
}

struct CountingQueue : SendQueue {
  std::vector<Request> sent;
  void send(const Request& request) override { sent.push_back(request); }
};

}  // namespace

TEST_CASE("arrival gaps have the mean and the variation of their law") {
  // n gaps: the mean is off by sqrt(c2 / n), c2 by about sqrt((2 c2^2 + 6 c2^3...) / n); 4 sigma.
  const auto [poisson_mean, poisson_c2] =
      gaps_of(open_loop(WorkloadConfig::Client::poisson, 4, 100'000));
  CHECK(poisson_mean == doctest::Approx(0.25).epsilon(4 / std::sqrt(1e5)));
  CHECK(poisson_c2 == doctest::Approx(1.0).epsilon(0.04));
  for (const double shape : {0.25, 4.0}) {
    WorkloadConfig workload = open_loop(WorkloadConfig::Client::gamma, 4, 100'000);
    workload.burstiness = shape;
    const auto [mean, c2] = gaps_of(workload);
    CHECK(mean == doctest::Approx(0.25).epsilon(4 / std::sqrt(1e5 * shape)));
    CHECK(c2 == doctest::Approx(1 / shape).epsilon(0.06));
  }
}

TEST_CASE("a longer open loop begins like a shorter one, and a rate only stretches time") {
  RandomArrivals few(open_loop(WorkloadConfig::Client::poisson, 4, 10), 7);
  RandomArrivals many(open_loop(WorkloadConfig::Client::poisson, 4, 20), 7);
  RandomArrivals fast(open_loop(WorkloadConfig::Client::poisson, 8, 10), 7);
  for (int i = 0; i < 10; ++i) {
    const Request request = *few.next();
    CHECK(many.next()->sent == request.sent);
    CHECK(to_seconds(fast.next()->sent) ==
          doctest::Approx(to_seconds(request.sent) / 2).epsilon(1e-6));
    CHECK(request.id == i);
    CHECK(request.max_new_tokens == 2);
  }
  CHECK_FALSE(few.next());
  CHECK(many.next());
}

TEST_CASE("an open loop has one request under way at a time") {
  CountingQueue queue;
  OpenLoopClient client(
      std::make_unique<RandomArrivals>(open_loop(WorkloadConfig::Client::poisson, 4, 3), 7));
  client.start(queue);
  CHECK(queue.sent.size() == 1);
  for (const std::size_t expected : {2u, 3u, 3u}) {
    client.on_sent(queue.sent.back(), queue);
    CHECK(queue.sent.size() == expected);
  }
  client.on_finished({}, queue);
  CHECK(queue.sent.size() == 3);
}
