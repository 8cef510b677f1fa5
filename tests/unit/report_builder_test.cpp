#include "sim/report/report_builder.h"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/fake_run.h"

using namespace plateau;
using namespace plateau::test;

namespace {

double at(const PartValues& values, Part part) { return values[static_cast<std::size_t>(part)]; }

ReportContext two_gpus() {
  ReportContext context;
  context.subject.gpus = 2;
  context.power.idle = {40, 30, 50, Source::measured};
  context.power.host_gap = {60, 50, 70, Source::assumed};
  context.device.power_limit_w = 600;
  return context;
}

// Two requests of 10 in, 3 out. Milliseconds: prefill 100 | gap 20, decode 50 | gap 30, decode 60.
// One gets its last token with the second decode step; the run rests 40 ms, then a third request of
// 10 in, 1 out is prefilled in 100.
Report small_run(ReportContext context = two_gpus()) {
  ReportBuilder builder(context);
  FakeRun run(builder);
  FakeStep prefill;
  prefill.length = 100ms;
  prefill.prefill = 20;
  prefill.running = 2;
  prefill.queued = 1;
  prefill.kv_used = 64;
  prefill.output_tokens = prefill.new_requests = 2;
  prefill.watts = 300;
  prefill.parts = {{Part::moe, 0.5}, {Part::all_reduce, 0.5}};
  run.step(prefill);
  FakeStep decode;
  decode.length = 50ms;
  decode.host_gap = 20ms;
  decode.decode = 2;
  decode.running = decode.output_tokens = 2;
  decode.queued = 3;
  decode.kv_used = 128;
  decode.watts = 200;
  decode.graph = true;
  decode.source = Source::interpolated;
  decode.parts = {{Part::moe, 0.2}, {Part::all_reduce, 0.6}, {Part::launch, 0.2}};
  decode.gaps = {{70ms, 2}};
  run.step(decode);
  decode.length = 60ms;
  decode.host_gap = 30ms;
  decode.queued = 0;
  decode.gaps = {{90ms, 2}};
  run.step(decode);
  run.finish(0ms, 100ms, 10, 3);
  run.finish(0ms, 100ms, 10, 3);
  prefill.idle = 40ms;
  prefill.prefill = 10;
  prefill.running = prefill.output_tokens = prefill.new_requests = 1;
  prefill.queued = 0;
  prefill.kv_used = 32;
  run.step(prefill);
  run.finish(300ms, run.now(), 10, 1);
  run.end();
  return builder.finish();
}

}  // namespace

TEST_CASE("report: throughput counts from first send to last token") {
  const Report r = small_run();
  CHECK(r.throughput.seconds == doctest::Approx(0.4));
  CHECK(r.throughput.output_tokens == 7);
  CHECK(r.throughput.input_tokens == 30);
  CHECK(r.throughput.output_tok_per_s == doctest::Approx(7 / 0.4));
  CHECK(r.throughput.total_tok_per_s == doctest::Approx(37 / 0.4));
  CHECK(r.throughput.requests_per_s == doctest::Approx(3 / 0.4));
  CHECK(r.throughput.concurrency == doctest::Approx((0.26 + 0.26 + 0.1) / 0.4));
}

TEST_CASE("report: latencies of a hand-computed run") {
  const LatencyReport l = small_run().latency_ms;
  CHECK(l.ttft.count == 3);
  CHECK(*l.ttft.mean == doctest::Approx(100));
  CHECK(l.tpot.count == 2);  // one token has no time per output token
  CHECK(*l.tpot.mean == doctest::Approx((260.0 - 100) / 2));
  CHECK(*l.e2e.p50 == doctest::Approx(260));
  CHECK(*l.e2e.mean == doctest::Approx((260.0 + 260 + 100) / 3));
  CHECK(l.itl.count == 4);
  CHECK(*l.itl.mean == doctest::Approx(80));
  CHECK(*l.itl.p50 == doctest::Approx(90));
}

TEST_CASE("report: running counts decode steps, the queue counts time") {
  const Report r = small_run();
  CHECK(r.running.mean == doctest::Approx(2));
  CHECK(r.running.peak == 2);
  CHECK(r.running.first_wave == 2);
  CHECK(r.queue.peak == 3);
  CHECK(r.queue.mean == doctest::Approx((1 * 0.100 + 3 * 0.070) / 0.4));
  CHECK(r.kv.peak_used_tokens == 128);
}

TEST_CASE("report: steps by kind") {
  const StepStatistics s = small_run().step;
  CHECK(s.decode_count == 2);
  CHECK(s.prefill_count == 2);
  CHECK(s.mixed_count == 0);
  CHECK(*s.decode_ms.mean == doctest::Approx(55));
  CHECK(*s.decode_ms.p50 == doctest::Approx(60));
  CHECK(*s.prefill_ms.p99 == doctest::Approx(100));
  CHECK(s.graph_share == 1);
  CHECK(s.decode_time_share == doctest::Approx(0.160 / 0.4));
  CHECK(s.prefill_time_share == doctest::Approx(0.200 / 0.4));
}

TEST_CASE("report: time split of a hand-computed run") {
  const Report r = small_run();
  CHECK(at(r.time_split, Part::moe) == doctest::Approx((0.1 + 0.022) / 0.4));
  CHECK(at(r.time_split, Part::all_reduce) == doctest::Approx((0.1 + 0.066) / 0.4));
  CHECK(at(r.time_split, Part::launch) == doctest::Approx(0.022 / 0.4));
  CHECK(at(r.time_split, Part::host) == doctest::Approx(0.050 / 0.4));
  CHECK(at(r.time_split, Part::idle) == doctest::Approx(0.040 / 0.4));
  CHECK(std::accumulate(r.time_split.begin(), r.time_split.end(), 0.0) ==
        doctest::Approx(1).epsilon(1e-12));
  CHECK(at(r.time_split_decode, Part::all_reduce) == doctest::Approx(0.066 / 0.160));
  CHECK(at(r.time_split_decode, Part::host) == doctest::Approx(0.050 / 0.160));
  CHECK(at(r.time_split_prefill, Part::moe) == doctest::Approx(0.5));
}

TEST_CASE("report: energy and power of a hand-computed run") {
  const Report r = small_run();
  const double one_gpu = 0.2 * 300 + 0.11 * 200 + 0.05 * 60 + 0.04 * 40;
  CHECK(r.energy.j_total == doctest::Approx(2 * one_gpu));
  CHECK(*r.energy.j_per_output_token == doctest::Approx(2 * one_gpu / 7));
  CHECK(at(r.energy.split, Part::host) == doctest::Approx(2 * 0.05 * 60));
  CHECK(at(r.energy.split, Part::idle) == doctest::Approx(2 * 0.04 * 40));
  CHECK(r.power.gpu_w_mean == doctest::Approx(one_gpu / 0.4));
  CHECK(r.power.node_w == doctest::Approx(2 * one_gpu / 0.4));
  REQUIRE(r.power.gpu_w_each.size() == 2);
  CHECK(r.power.gpu_w_each[1] == r.power.gpu_w_mean);
  CHECK(*r.power.tdp_fraction == doctest::Approx(one_gpu / 0.4 / 600));
  CHECK(r.power.utilization_pct == doctest::Approx(100 * (0.2 + 0.11 - 0.022) / 0.4));
  // Polls at 100 to 400 ms, board idle before: the last second before the end held 0.6 s of 40 W
  // and the run.
  CHECK(*r.power.gpu_w_max_meter == doctest::Approx(0.6 * 40 + one_gpu));
}

TEST_CASE("report: the interval is the band of the tables") {
  const Report r = small_run();
  const double outside = 0.4 - 0.31;
  REQUIRE(r.interval.output_tok_per_s);
  CHECK(r.interval.output_tok_per_s->low == doctest::Approx(7 / (outside + 1.25 * 0.31)));
  CHECK(r.interval.output_tok_per_s->high == doctest::Approx(7 / (outside + 0.9 * 0.31)));
  REQUIRE(r.interval.gpu_w_mean);
  CHECK(r.interval.gpu_w_mean->low == doctest::Approx((0.8 * 82 + 0.05 * 50 + 0.04 * 30) / 0.4));
  CHECK(r.interval.gpu_w_mean->high == doctest::Approx((1.1 * 82 + 0.05 * 70 + 0.04 * 50) / 0.4));
}

TEST_CASE("report: sources are shares of priced time and weak ones warn") {
  const Report r = small_run();
  const double sum = 0.2 + 0.11 + 0.05;
  CHECK(r.provenance.shares[static_cast<std::size_t>(Source::measured)] ==
        doctest::Approx(0.2 / sum));
  CHECK(r.provenance.shares[static_cast<std::size_t>(Source::interpolated)] ==
        doctest::Approx(0.11 / sum));
  CHECK(r.provenance.shares[static_cast<std::size_t>(Source::assumed)] ==
        doctest::Approx(0.05 / sum));
  REQUIRE(r.warnings.size() == 1);
  CHECK(r.warnings[0] == "14 % of the time is assumed, not measured on this profile");
}

TEST_CASE("report: retractions and expert load come through") {
  ReportContext context = two_gpus();
  double asked = 0;
  context.experts = [&](double tokens) {
    asked = tokens;
    ExpertsReport experts;
    experts.active_mean = 42;
    return experts;
  };
  ReportBuilder builder(context);
  FakeRun run(builder);
  play(run, {{4, 4}, {0, 0}});
  builder.on_retraction({50ms, 3, 120, 128, 0.1, 0.2});
  builder.on_retraction({60ms, 1, 30, 64, 0.1, 0.2});
  const Report r = builder.finish();
  CHECK(r.retractions.count == 4);
  CHECK(r.retractions.recomputed_tokens == 150);
  CHECK(asked == 4);
  REQUIRE(r.experts);
  CHECK(r.experts->active_mean == 42);
}

TEST_CASE("report: a mixed step is a decode step") {
  ReportBuilder builder(two_gpus());
  FakeRun run(builder);
  FakeStep mixed;
  mixed.length = 10ms;
  mixed.decode = 5;
  mixed.prefill = 100;
  mixed.running = 6;
  mixed.output_tokens = 6;
  run.step(mixed);
  run.finish(0ms, 10ms, 100, 6);
  run.end();
  const Report r = builder.finish();
  CHECK(r.step.decode_count == 1);
  CHECK(r.step.mixed_count == 1);
  CHECK(r.step.prefill_count == 0);
  CHECK(r.running.first_wave == 6);
}

TEST_CASE("report: a run without output says so instead of dividing by zero") {
  ReportBuilder builder(two_gpus());
  builder.on_end(SimTime{});
  const Report r = builder.finish();
  CHECK_FALSE(r.energy.j_per_output_token);
  CHECK_FALSE(r.latency_ms.ttft.mean);
  CHECK_FALSE(r.steady_state.output_tok_per_s);
  CHECK(r.throughput.output_tok_per_s == 0);
  CHECK_FALSE(report_json(r).empty());
  CHECK_FALSE(report_text(r).empty());
}

TEST_CASE("report: unpriced steps and lost tokens are reported") {
  ReportBuilder builder(two_gpus());
  FakeRun run(builder);
  FakeStep step;
  step.length = 10ms;
  step.decode = 1;
  step.running = 1;
  step.output_tokens = 5;
  step.parts = {{Part::moe, 0.0}};
  run.step(step);
  run.finish(0ms, 10ms, 1, 4);
  run.end();
  const Report r = builder.finish();
  CHECK(at(r.time_split, Part::wait) == doctest::Approx(1));
  REQUIRE(r.warnings.size() == 2);
  CHECK(r.warnings[0].find("their parts add up to 0 s") != std::string::npos);
  CHECK(r.warnings[1] == "steps delivered 5 tokens, finished requests hold 4");
}

TEST_CASE("report: a step after the last token is outside the run, one before it is not") {
  ReportBuilder builder(two_gpus());
  FakeRun run(builder);
  FakeStep step;
  step.length = 10ms;
  step.prefill = 100;
  step.running = 1;
  run.step(step);  // first chunk: no token yet
  step.output_tokens = step.new_requests = 1;
  run.step(step);
  run.finish(0ms, run.now(), 200, 1);
  const SimTime last_token = run.now();
  step.output_tokens = 0;
  step.prefill = 0;
  step.decode = 1;
  run.step(step);
  builder.on_end(last_token);
  const Report r = builder.finish();
  CHECK(r.throughput.seconds == doctest::Approx(0.02));
  CHECK(r.step.prefill_count == 2);
  CHECK(r.step.decode_count == 1);  // the engine ran it, the run's time does not hold it
  CHECK(at(r.time_split, Part::moe) == doctest::Approx(1));
  CHECK(r.power.gpu_w_mean == doctest::Approx(100));
  CHECK(r.warnings.empty());
}
