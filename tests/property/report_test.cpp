// What holds for every run, however odd.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "sim/report/format.h"
#include "sim/report/report_builder.h"
#include "sim/report/statistics.h"
#include "tests/support/fake_run.h"

using namespace plateau;
using namespace plateau::test;

namespace {

SimTime any_time(int most_microseconds) {
  return std::chrono::microseconds(*rc::gen::inRange(0, most_microseconds)) +
         std::chrono::nanoseconds(*rc::gen::inRange(0, 999));
}

FakeStep any_step() {
  FakeStep step;
  step.length = any_time(50000) + 1us;
  step.host_gap = *rc::gen::inRange(0, 3) == 0 ? any_time(5000) : SimTime{};
  step.idle = *rc::gen::inRange(0, 5) == 0 ? any_time(300000) : SimTime{};
  const int kind = *rc::gen::inRange(0, 3);
  step.decode = kind != 0 ? *rc::gen::inRange(1, 100) : 0;
  step.prefill = kind != 1 ? *rc::gen::inRange(1, 5000) : 0;
  step.running = *rc::gen::inRange(1, 100);
  step.queued = std::max(0, *rc::gen::inRange(-20, 50));
  step.output_tokens = step.running;
  step.kv_used = *rc::gen::inRange(0, 10000);
  step.new_requests = step.prefill > 0 ? *rc::gen::inRange(0, 5) : 0;
  step.watts = *rc::gen::inRange(100, 700);
  step.graph = *rc::gen::inRange(0, 2) == 0;
  step.source = static_cast<Source>(*rc::gen::inRange(0, kSources));
  const double moe = 0.01 * *rc::gen::inRange(0, 60);
  const double reduce = 0.01 * *rc::gen::inRange(0, 40);
  step.parts = {{Part::moe, moe}, {Part::all_reduce, reduce}, {Part::launch, 1 - moe - reduce}};
  step.gaps = {{step.length, step.running}};
  return step;
}

Report any_report(ReportContext context = {}) {
  context.subject.gpus = *rc::gen::inRange(1, 17);
  context.subject.load = "some clients";
  context.clients = *rc::gen::inRange(0, 120);
  context.power.idle = Estimate::within(40, 0.1, Source::measured);
  context.power.host_gap = Estimate::within(100, 0.1, Source::assumed);
  context.device.power_limit_w = 600;
  context.kv.capacity_tokens = 10000;
  context.series_points = 16;
  context.decode_curve = {{1, 10}, {10, 90}, {100, 400}};
  ReportBuilder builder(context);
  FakeRun run(builder);
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const SimTime before = run.now();
    run.step(any_step());
    if (*rc::gen::inRange(0, 2) == 0) {
      const SimTime sent = before / (1 + *rc::gen::inRange(0, 4));
      run.finish(sent, run.now(), *rc::gen::inRange(1, 100), *rc::gen::inRange(1, 100),
                 *rc::gen::inRange(1, 9));
    }
  }
  run.finish(SimTime{}, run.now(), 1, 1);
  run.end();
  return builder.finish();
}

double sum(const PartValues& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

}  // namespace

TEST_CASE("property: shares of time and of sources sum to 1") {
  CHECK(rc::check([] {
    const Report r = any_report();
    RC_ASSERT(near(sum(r.time_split), 1, 1e-12));
    const double decode = sum(r.time_split_decode);
    const double prefill = sum(r.time_split_prefill);
    RC_ASSERT(near(decode, r.step.decode_count > 0 ? 1 : 0, 1e-12));
    RC_ASSERT(near(prefill, r.step.prefill_count > 0 ? 1 : 0, 1e-12));
    const double idle = r.time_split[static_cast<std::size_t>(Part::idle)];
    RC_ASSERT(near(r.step.decode_time_share + r.step.prefill_time_share + idle, 1, 1e-12));
    const auto& shares = r.provenance.shares;
    RC_ASSERT(near(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12));
    for (const double share : r.time_split) RC_ASSERT(share >= 0);
  }));
}

TEST_CASE("property: energy is the sum of its parts and mean power times time") {
  CHECK(rc::check([] {
    const Report r = any_report();
    RC_ASSERT(near(sum(r.energy.split), r.energy.j_total, 1e-12));
    RC_ASSERT(near(r.power.node_w * r.throughput.seconds, r.energy.j_total, 1e-9));
    RC_ASSERT(*r.power.gpu_w_max_meter <= 700.0 + 1e-6);
    RC_ASSERT(*r.power.gpu_w_p95_meter <= *r.power.gpu_w_max_meter);
    RC_ASSERT(r.power.utilization_pct >= 0);
    RC_ASSERT(r.power.utilization_pct <= 100);
  }));
}

TEST_CASE("property: the band holds the value and the steady state lies inside the run") {
  CHECK(rc::check([] {
    const Report r = any_report();
    RC_ASSERT(r.interval.output_tok_per_s->low <= r.throughput.output_tok_per_s * (1 + 1e-9));
    RC_ASSERT(r.interval.output_tok_per_s->high >= r.throughput.output_tok_per_s * (1 - 1e-9));
    RC_ASSERT(r.interval.gpu_w_mean->low <= r.power.gpu_w_mean);
    RC_ASSERT(r.interval.gpu_w_mean->high >= r.power.gpu_w_mean);
    if (!r.steady_state.start_s) return;
    RC_ASSERT(*r.steady_state.start_s >= 0);
    RC_ASSERT(*r.steady_state.end_s > *r.steady_state.start_s);
    RC_ASSERT(*r.steady_state.end_s <= r.throughput.seconds);
    RC_ASSERT(*r.steady_state.output_tok_per_s >= 0);
  }));
}

TEST_CASE("property: quantiles agree with brute force, exact and in buckets") {
  CHECK(rc::check([] {
    const auto pairs = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 2000), rc::gen::inRange(1, 5))));
    Distribution exact;
    Distribution bucketed(3);
    std::vector<double> all;
    for (const auto& [value, weight] : pairs) {
      exact.add(0.37 * value, weight);
      bucketed.add(0.37 * value, weight);
      all.insert(all.end(), static_cast<std::size_t>(weight), 0.37 * value);
    }
    std::sort(all.begin(), all.end());
    const int permille = *rc::gen::inRange(0, 1001);
    const double truth =
        all[std::min(all.size() * static_cast<std::size_t>(permille) / 1000, all.size() - 1)];
    RC_ASSERT(*exact.quantile(permille) == truth);
    RC_ASSERT(std::abs(*bucketed.quantile(permille) - truth) <= Distribution::kBucketError * truth);
    RC_ASSERT(near(*exact.mean(),
                   std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
                   1e-12));
  }));
}

TEST_CASE("property: elasticities are ordered and the first names the constraint") {
  CHECK(rc::check([] {
    const BindingReport b = any_report().binding;
    RC_ASSERT(!b.limits.empty());
    RC_ASSERT(b.constraint == b.limits.front().constraint);
    RC_ASSERT(!b.why.empty());
    for (std::size_t i = 0; i < b.limits.size(); ++i) {
      RC_ASSERT(b.limits[i].elasticity > 0);
      RC_ASSERT(b.limits[i].elasticity <= 1 + 1e-9);
      if (i > 0) RC_ASSERT(b.limits[i - 1].elasticity >= b.limits[i].elasticity);
    }
  }));
}

TEST_CASE("property: text keeps to its width and JSON parses back, whatever the strings") {
  CHECK(rc::check([] {
    ReportContext context;
    context.subject.model = *rc::gen::arbitrary<std::string>();
    context.subject.question =
        std::string(static_cast<std::size_t>(*rc::gen::inRange(0, 300)), 'x');
    context.warnings = {*rc::gen::arbitrary<std::string>(),
                        "a long warning " + std::string(200, 'w')};
    const Report r = any_report(context);
    const int columns = *rc::gen::inRange(60, 140);
    TextOptions options;
    options.columns = columns;
    std::istringstream lines(report_text(r, options));
    for (std::string line; std::getline(lines, line);)
      RC_ASSERT(width_of(line) <= static_cast<std::size_t>(columns));
    const auto json = nlohmann::json::parse(report_json(r));
    RC_ASSERT(json["throughput"]["output_tok_per_s"].get<double>() ==
              r.throughput.output_tok_per_s);
    RC_ASSERT(json["power"]["gpu_w_mean"].get<double>() == r.power.gpu_w_mean);
  }));
}
