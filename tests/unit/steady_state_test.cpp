#include <doctest/doctest.h>

#include "sim/report/report_builder.h"
#include "tests/support/fake_run.h"

using namespace plateau;
using namespace plateau::test;

namespace {

SteadyStateReport steady_state(const LockStep& plan, int clients) {
  ReportContext context;
  context.clients = clients;
  ReportBuilder builder(context);
  FakeRun run(builder);
  play(run, plan);
  return builder.finish().steady_state;
}

}  // namespace

// One cycle of n = 20 requests: prefill 20 ms, 4 decode steps of 10 ms: 60 ms for 100 tokens.
TEST_CASE("steady state: whole cycles, the short last wave cut off") {
  const SteadyStateReport s = steady_state({{20, 20, 20, 3}, {3, 3, 3, 0}}, 23);
  REQUIRE(s.output_tok_per_s);
  CHECK(*s.start_s == doctest::Approx(0.080));  // second wave's first decode step
  CHECK(*s.end_s == doctest::Approx(0.140));    // third wave's: the last with a queue
  CHECK(*s.output_tok_per_s == doctest::Approx(100 / 0.060));
  CHECK(*s.total_tok_per_s == doctest::Approx(300 / 0.060));
  CHECK(*s.requests_per_s == doctest::Approx(20 / 0.060));
  CHECK(*s.running_mean == doctest::Approx(20));
  CHECK(*s.gpu_w_mean == doctest::Approx(100));
}

TEST_CASE("steady state: without a queue, full waves count and a short one does not") {
  const SteadyStateReport s = steady_state({{20, 20, 20, 20, 11}, {0, 0, 0, 0, 0}}, 20);
  REQUIRE(s.output_tok_per_s);
  CHECK(*s.start_s == doctest::Approx(0.080));
  CHECK(*s.end_s == doctest::Approx(0.200));
  CHECK(*s.output_tok_per_s == doctest::Approx(200 / 0.120));
}

TEST_CASE("steady state: the last full wave counts although half of the clients are done") {
  const SteadyStateReport s = steady_state({{20, 20, 20}, {20, 20, 0}}, 40);
  REQUIRE(s.output_tok_per_s);
  CHECK(*s.end_s == doctest::Approx(0.140));
  CHECK(*s.output_tok_per_s == doctest::Approx(100 / 0.060));
}

TEST_CASE("steady state: missing when one wave is all there is") {
  const SteadyStateReport s = steady_state({{20}, {0}}, 20);
  CHECK_FALSE(s.output_tok_per_s);
  CHECK_FALSE(s.gpu_w_mean);
  CHECK(s.rule == "none: the run ended with its first wave of requests");
}

TEST_CASE("steady state: missing when no second full wave begins") {
  const SteadyStateReport s = steady_state({{20, 20, 2}, {0, 0, 0}}, 20);
  CHECK_FALSE(s.output_tok_per_s);
  CHECK(s.rule == "none: the load fell before a second full wave of requests had run");
}

TEST_CASE("steady state: open loop ends at the last admission") {
  const SteadyStateReport s = steady_state({{20, 20, 20, 7}, {0, 0, 0, 0}}, 0);
  REQUIRE(s.end_s);
  CHECK(*s.end_s == doctest::Approx(0.187));  // the 7 are prefilled by then
}

TEST_CASE("steady state: the order of a step and the requests it finishes does not matter") {
  Report reports[2];
  for (const int finish_first : {0, 1}) {
    ReportContext context;
    context.clients = 2;
    ReportBuilder builder(context);
    SimTime now{};
    for (int wave = 0; wave < 4; ++wave) {
      const SimTime sent = now;
      for (int i = 0; i < 3; ++i) {
        StepShape shape;
        StepCost cost;
        (i == 0 ? shape.prefill_tokens : shape.decode_sequences) = 2;
        StepRecord step;
        step.start = now;
        step.end = now = now + 10ms;
        step.shape = &shape;
        step.cost = &cost;
        step.running = step.output_tokens = 2;
        step.new_requests = i == 0 ? 2 : 0;
        const RequestRecord request{0, sent, sent + 10ms, now, 1, 3, 0};
        if (i < 2 || !finish_first) builder.on_step(step);
        if (i == 2) {
          builder.on_request_finished(request);
          builder.on_request_finished(request);
        }
        if (i == 2 && finish_first) builder.on_step(step);
      }
    }
    builder.on_end(now);
    reports[finish_first] = builder.finish();
  }
  REQUIRE(reports[0].steady_state.requests_per_s);
  CHECK(*reports[0].steady_state.requests_per_s == doctest::Approx(4 / 0.060));
  CHECK(reports[0].steady_state.requests_per_s == reports[1].steady_state.requests_per_s);
  CHECK(reports[0].steady_state.total_tok_per_s == reports[1].steady_state.total_tok_per_s);
}

TEST_CASE("steady state: prefill mixed into every decode step still has a window") {
  ReportContext context;
  context.clients = 4;
  ReportBuilder builder(context);
  FakeRun run(builder);
  FakeStep mixed;
  mixed.length = 10ms;
  mixed.decode = 3;
  mixed.prefill = 5;
  mixed.running = 4;
  mixed.output_tokens = 4;
  mixed.new_requests = 1;
  for (int i = 0; i < 40; ++i) {
    run.step(mixed);
    if (i >= 3) run.finish(run.now() - 40ms, run.now() - 30ms, 5, 4);
  }
  run.end();
  const SteadyStateReport s = builder.finish().steady_state;
  REQUIRE(s.output_tok_per_s);
  CHECK(*s.output_tok_per_s == doctest::Approx(400));
}
