#include "sim/report/bounds.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/synthetic_report.h"

using namespace plateau;

namespace {

Report sound() {
  Report report;
  report.throughput.seconds = 10;
  report.throughput.concurrency = 4;
  report.running.peak = 4;
  report.kv.capacity_tokens = 1000;
  report.kv.bytes_per_token_per_gpu = 1e6;
  report.kv.peak_used_tokens = 1000;
  report.latency_ms.itl = {400, 100.0, 100.0, 100.0, 100.0, 100.0};  // 40 s of gaps: 4 at once
  report.step.decode_ms.mean = 40;
  report.power.gpu_w_mean = 300;
  return report;
}

BoundsInput input() {
  BoundsInput in;
  in.device.memory_bytes = 3e9;
  in.device.memory_bandwidth = 1e12;
  in.device.bf16_flops = 1e15;
  in.device.power_limit_w = 300;
  in.weights_bytes = 2e9;
  in.clients = 4;
  OpLine line;
  line.call.count = 10;
  line.call.m = 1;
  line.call.n = 20000;
  line.call.k = 99000;  // 4 ms at 1 TB/s
  in.decode_lines = {line};
  return in;
}

std::vector<std::string> broken(const Report& report, const BoundsInput& in) {
  std::vector<std::string> names;
  for (const Bound& bound : bounds_of(report, in)) {
    if (!bound.holds) names.push_back(bound.name);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a run at every bound breaks none of them") {
  CHECK(bounds_of(sound(), input()).size() == 6);
  CHECK(broken(sound(), input()).empty());
}

TEST_CASE("each bound catches what contradicts it") {
  Report fast = sound();
  fast.step.decode_ms.mean = 39;
  CHECK(broken(fast, input()) == Names{"decode_roofline"});
  Report full = sound();
  full.kv.peak_used_tokens = 1001;
  CHECK(broken(full, input()) == Names{"kv_used"});
  BoundsInput heavy = input();
  heavy.weights_bytes = 2.001e9;
  CHECK(broken(sound(), heavy) == Names{"memory"});
  Report many = sound();
  many.throughput.concurrency = 4.01;
  CHECK(broken(many, input()) == Names{"little_clients"});
  Report crowded = sound();
  crowded.latency_ms.itl.mean = 101;
  CHECK(broken(crowded, input()) == Names{"little_decode"});
  Report hot = sound();
  hot.power.gpu_w_mean = 301;
  CHECK(broken(hot, input()) == Names{"power"});
}

TEST_CASE("a bound whose ground is unknown is not asked") {
  Report report = sound();
  report.retractions.count = 1;
  report.step.decode_ms.mean.reset();
  BoundsInput in = input();
  in.weights_bytes = 0;
  in.clients = 0;
  in.device.power_limit_w = 0;
  const auto bounds = bounds_of(report, in);
  REQUIRE(bounds.size() == 1);
  CHECK(bounds[0].name == "kv_used");
}

TEST_CASE("a broken bound is a warning of the report") {
  ReportContext context = test::synthetic_context();
  context.kv.capacity_tokens = 100;
  ReportBuilder builder(context);
  test::FakeRun fake(builder);
  test::FakeStep step;
  step.length = std::chrono::milliseconds(10);
  step.decode = 1;
  step.running = step.output_tokens = 1;
  step.kv_used = 101;
  fake.step(step);
  fake.finish({}, fake.now(), 1, 1);
  fake.end();
  const Report report = builder.finish();
  CHECK(std::any_of(report.warnings.begin(), report.warnings.end(), [](const std::string& warning) {
    return warning.find("breaks the bound kv_used") == 0;
  }));
}
