// Laws that hold whatever the scheduler does: Little's law, conservation of energy, what a boxcar
// meter preserves.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <queue>

#include "models/random.h"
#include "sim/report/report_builder.h"
#include "sim/report/statistics.h"
#include "tests/support/fake_run.h"
#include "tests/support/synthetic_report.h"

using namespace plateau;
using namespace plateau::test;

namespace {

struct Served {
  SimTime sent{};
  SimTime first{};
  int input = 0;
  int output = 0;
  int done = 0;
};

// A prefill-first batch server in a closed loop of `clients`, at most `cap` running; lengths from
// `draw`. Keeps the integral of the population over time beside the report.
struct ClosedLoop {
  int clients = 0;
  int cap = 0;
  int requests = 0;
  double population_seconds = 0;

  Report run(const ReportContext& context, int (*draw)(int request)) {
    ReportBuilder builder(context);
    FakeRun fake(builder);
    std::queue<Served> waiting;
    std::vector<Served> running;
    int sent = 0;
    const auto send = [&] {
      if (sent < requests) waiting.push({fake.now(), {}, 10, draw(sent), 0});
      ++sent;
    };
    for (int i = 0; i < clients; ++i) send();
    while (!waiting.empty() || !running.empty()) {
      FakeStep step;
      std::size_t fresh = running.size();
      while (!waiting.empty() && static_cast<int>(running.size()) < cap) {
        running.push_back(waiting.front());
        waiting.pop();
      }
      const std::size_t admitted = running.size() - fresh;
      if (admitted == 0) fresh = 0;  // decode: everybody gains a token
      step.host_gap = 300us;
      step.length = admitted > 0 ? 700us * static_cast<std::int64_t>(admitted)
                                 : 5ms + 100us * static_cast<std::int64_t>(running.size());
      (admitted > 0 ? step.prefill : step.decode) =
          static_cast<double>(admitted > 0 ? 10 * admitted : running.size());
      step.running = static_cast<std::int64_t>(running.size());
      step.queued = static_cast<std::int64_t>(waiting.size());
      step.output_tokens = static_cast<std::int64_t>(running.size() - fresh);
      step.new_requests = static_cast<std::int64_t>(admitted);
      step.watts = admitted > 0 ? 410 : 205;
      const auto population = static_cast<double>(running.size() + waiting.size());
      population_seconds += population * to_seconds(step.length + step.host_gap);
      fake.step(step);
      std::vector<Served> left;
      for (std::size_t i = 0; i < running.size(); ++i) {
        Served& request = running[i];
        if (i >= fresh && request.done++ == 0) request.first = fake.now();
        if (request.done < request.output) {
          left.push_back(request);
          continue;
        }
        fake.finish(request.sent, request.first, request.input, request.output);
        send();
      }
      running = left;
    }
    fake.end();
    return builder.finish();
  }
};

int fixed_length(int) { return 24; }
int varied_length(int request) { return 1 + (request * 2654435761U >> 16) % 47; }

ReportContext one_gpu(int clients) {
  ReportContext context;
  context.clients = clients;
  context.power.idle = Estimate::within(40, 0, Source::measured);
  context.power.host_gap = Estimate::within(90, 0, Source::measured);
  return context;
}

double sum(const PartValues& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE(
    "Little's law: mean population = request rate x mean latency, exactly, on lock-step and "
    "staggered runs") {
  for (const auto draw : {fixed_length, varied_length}) {
    for (const int cap : {16, 40, 100}) {
      ClosedLoop loop{64, cap, 500};
      const Report r = loop.run(one_gpu(64), draw);
      const double population = loop.population_seconds / r.throughput.seconds;
      CHECK(population ==
            doctest::Approx(r.throughput.requests_per_s * *r.latency_ms.e2e.mean / 1e3)
                .epsilon(1e-9));
      CHECK(population == doctest::Approx(r.throughput.concurrency).epsilon(1e-9));
    }
  }
}

TEST_CASE("Little's law at the plateau: N requests in pure decode give N / t tokens a second") {
  // 1,935 requests at 0.92363 s a step: 2,095 tok/s, 16.367 requests/s of 128 tokens, 118.224 s
  // each.
  ReportContext context = one_gpu(1935);
  ReportBuilder builder(context);
  FakeRun run(builder);
  FakeStep step;
  step.length = to_sim_time(0.92363);
  step.decode = 1935;
  step.running = step.output_tokens = 1935;
  for (int wave = 0; wave < 3; ++wave) {
    const SimTime sent = run.now();
    for (int i = 0; i < 128; ++i) run.step(step);
    run.finish(sent, sent + step.length, 0, 128, 1935);
  }
  run.end();
  const Report r = builder.finish();
  CHECK(r.throughput.output_tok_per_s == doctest::Approx(2095).epsilon(1e-5));
  CHECK(r.throughput.requests_per_s == doctest::Approx(16.367).epsilon(1e-4));
  CHECK(*r.latency_ms.e2e.mean == doctest::Approx(118224.6).epsilon(1e-5));
  CHECK(r.throughput.requests_per_s * *r.latency_ms.e2e.mean / 1e3 ==
        doctest::Approx(1935).epsilon(1e-9));
}

TEST_CASE("steady state: whole cycles agree with the closed form") {
  // A full wave of 16 of 24 tokens: one prefill of 11.2 ms, 23 decode steps of 6.6 ms, 24 host gaps
  // of 0.3 ms.
  ClosedLoop loop{64, 16, 500};
  const Report r = loop.run(one_gpu(64), fixed_length);
  const double cycle = 0.0112 + 23 * 0.0066 + 24 * 0.0003;
  REQUIRE(r.steady_state.output_tok_per_s);
  CHECK(*r.steady_state.output_tok_per_s == doctest::Approx(16 * 24 / cycle).epsilon(1e-9));
  CHECK(*r.steady_state.requests_per_s == doctest::Approx(16 / cycle).epsilon(1e-9));
}

TEST_CASE(
    "energy: parts add up to mean power x time, and J per token x tok/s is the node's power") {
  for (const auto draw : {fixed_length, varied_length}) {
    ClosedLoop loop{64, 40, 500};
    ReportContext context = one_gpu(64);
    context.subject.gpus = 8;
    const Report r = loop.run(context, draw);
    CHECK(sum(r.energy.split) ==
          doctest::Approx(r.power.node_w * r.throughput.seconds).epsilon(1e-9));
    CHECK(*r.energy.j_per_output_token * r.throughput.output_tok_per_s ==
          doctest::Approx(r.power.node_w).epsilon(1e-9));
    CHECK(sum(r.time_split) == doctest::Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("power: two levels mix by their time, 140 and 380 W at 60.47 % give 234.87 W") {
  ReportBuilder builder(one_gpu(1));
  FakeRun run(builder);
  FakeStep step;
  step.decode = 1;
  step.running = step.output_tokens = 1;
  step.watts = 140;
  step.length = to_sim_time(0.6047);
  run.step(step);
  step.watts = 380;
  step.length = to_sim_time(0.3953);
  run.step(step);
  run.finish(SimTime{}, SimTime{}, 1, 2);
  run.end();
  const Report r = builder.finish();
  CHECK(r.power.gpu_w_mean == doctest::Approx(0.6047 * 140 + 0.3953 * 380).epsilon(1e-9));
  CHECK(r.power.gpu_w_mean == doctest::Approx(234.87).epsilon(1e-4));
}

TEST_CASE("power meter: the averaged trace holds the trace's energy, but for edges of one window") {
  PowerMeter meter(40);
  Random random = RandomStream(3, "meter").at(0);
  double joules = 0;
  double highest = 40;
  SimTime total{};
  for (int i = 0; i < 5000; ++i) {
    const double watts = 100 + 500 * random.uniform();
    const SimTime length =
        std::chrono::microseconds(100 + static_cast<int>(20000 * random.uniform()));
    meter.add(length, watts * to_seconds(length));
    joules += watts * to_seconds(length);
    highest = std::max(highest, watts);
    total += length;
  }
  const double integral = *meter.readings().mean() * to_seconds(PowerMeter::kPeriod) *
                          static_cast<double>(meter.readings().count());
  CHECK(std::abs(integral - joules) <= highest * 1.0);
  CHECK(*meter.readings().max() <= highest);
  CHECK(meter.joules() == doctest::Approx(joules).epsilon(1e-12));
  CHECK(meter.readings().count() == total / PowerMeter::kPeriod);
}

TEST_CASE("series: charts integrate to the report's tokens, energy and queue") {
  const Report r = synthetic_report();
  double tokens = 0;
  double joules = 0;
  double queue = 0;
  double seconds = 0;
  for (const SeriesPoint& point : r.series) {
    tokens += point.output_tok_per_s * point.seconds;
    joules += point.gpu_w * point.seconds;
    queue += point.queued * point.seconds;
    seconds += point.seconds;
  }
  CHECK(r.series.size() <= 64);
  CHECK(tokens == doctest::Approx(static_cast<double>(r.throughput.output_tokens)).epsilon(1e-9));
  CHECK(joules * 8 == doctest::Approx(r.energy.j_total).epsilon(1e-9));
  CHECK(queue / seconds == doctest::Approx(r.queue.mean).epsilon(1e-9));
}
