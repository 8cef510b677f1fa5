// Several engines behind a balancer, and how their report adds up.
#include <doctest/doctest.h>

#include "sim/engine/open_loop.h"
#include "sim/report/report_builder.h"
#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

// 10 ms and 200 W for decode, a millisecond and 300 W for a prompt token.
class PricedTimer : public StepTimer {
 public:
  const StepCost& cost(const StepShape& shape) override {
    cost_ = {};
    const bool prefill = shape.prefill_tokens > 0;
    const double seconds = prefill ? 1e-3 * shape.prefill_tokens : 10e-3;
    cost_[Part::moe] = {seconds, seconds * (prefill ? 300 : 200)};
    cost_.seconds = cost_.busy_seconds = cost_.low_seconds = cost_.high_seconds = seconds;
    cost_.joules = cost_.low_joules = cost_.high_joules = cost_[Part::moe].joules;
    cost_.source_seconds[0] = seconds;
    return cost_;
  }

 private:
  StepCost cost_;
};

EngineLimits limits() {
  EngineLimits limits;
  limits.pool_tokens = 4000;
  limits.max_running = 8;
  return limits;
}

Report report_of(int replicas, Client& client, const ReportContext& like, Recorder* seen = nullptr,
                 BalancerLaw law = BalancerLaw::round_robin) {
  std::vector<std::unique_ptr<Scheduler>> owned;
  std::vector<Scheduler*> engines;
  for (int i = 0; i < replicas; ++i) {
    owned.push_back(make_scheduler("simple", limits()));
    engines.push_back(owned.back().get());
  }
  ReportContext context = like;
  context.replicas = replicas;
  context.subject.gpus = 2 * replicas;
  context.power.idle = {50, 50, 50, Source::assumed};
  context.series_points = 16;
  context.kv.capacity_tokens = 4000;
  ReportBuilder builder(context);
  PricedTimer timer;
  std::vector<Observer*> observers = {&builder};
  if (seen != nullptr) observers.push_back(seen);
  Simulation(engines, law, client, timer, {}, observers).run();
  return builder.finish();
}

OpenLoopClient poisson(double rate, std::int64_t requests) {
  WorkloadConfig workload;
  workload.client = WorkloadConfig::Client::poisson;
  workload.request_rate = rate;
  workload.requests = requests;
  workload.input.tokens = 20;
  workload.output = {LengthConfig::Law::jitter, 30, 0.9};
  return OpenLoopClient(std::make_unique<RandomArrivals>(workload, 4));
}

}  // namespace

TEST_CASE("two replicas of twice the load: sums double, means stay") {
  ReportContext context;
  context.clients = 24;
  ClosedLoopClient one_client(closed_loop(24, 24, 20, 30), 1);
  const Report one = report_of(1, one_client, context);
  context.clients = 48;
  ClosedLoopClient two_clients(closed_loop(48, 48, 20, 30), 1);
  const Report two = report_of(2, two_clients, context);
  CHECK(two.throughput.seconds == one.throughput.seconds);
  CHECK(two.throughput.output_tok_per_s == doctest::Approx(2 * one.throughput.output_tok_per_s));
  CHECK(two.running.mean == doctest::Approx(2 * one.running.mean));
  CHECK(two.running.peak == 2 * one.running.peak);
  CHECK(two.running.first_wave == 2 * one.running.first_wave);
  CHECK(two.queue.mean == doctest::Approx(2 * one.queue.mean));
  CHECK(two.queue.peak == 2 * one.queue.peak);
  CHECK(two.kv.peak_used_tokens == 2 * one.kv.peak_used_tokens);
  CHECK(two.kv.capacity_tokens == 8000);
  CHECK(two.power.gpu_w_mean == doctest::Approx(one.power.gpu_w_mean));
  CHECK(two.power.node_w == doctest::Approx(2 * one.power.node_w));
  CHECK(two.power.gpu_w_each.size() == 4);
  CHECK(two.power.utilization_pct == doctest::Approx(one.power.utilization_pct));
  CHECK(two.energy.j_total == doctest::Approx(2 * one.energy.j_total));
  CHECK(*two.energy.j_per_output_token == doctest::Approx(*one.energy.j_per_output_token));
  CHECK(two.interval.output_tok_per_s->low ==
        doctest::Approx(2 * one.interval.output_tok_per_s->low));
  CHECK(*two.latency_ms.ttft.p99 == *one.latency_ms.ttft.p99);
  CHECK(*two.latency_ms.itl.mean == doctest::Approx(*one.latency_ms.itl.mean));
  for (std::size_t i = 0; i < kParts; ++i)
    CHECK(two.time_split[i] == doctest::Approx(one.time_split[i]));
  REQUIRE(two.replicas.size() == 2);
  CHECK(two.replicas[0].requests == 24);
  CHECK(two.replicas[1].running_mean == doctest::Approx(one.running.mean));
  CHECK(two.binding.constraint == one.binding.constraint);
  REQUIRE(two.series.size() == one.series.size());
  for (std::size_t i = 0; i < one.series.size(); ++i) {
    CHECK(two.series[i].running == doctest::Approx(2 * one.series[i].running));
    CHECK(two.series[i].gpu_w == doctest::Approx(one.series[i].gpu_w));
  }
  std::string told;
  for (const std::string& warning : two.warnings) told += warning + "; ";
  CAPTURE(told);
  CHECK(two.warnings == one.warnings);
}

TEST_CASE("a replica without work idles through the run and is counted") {
  ReportContext context;
  context.clients = 1;
  ClosedLoopClient client(closed_loop(1, 1, 20, 30), 1);
  const Report report = report_of(2, client, context);
  CHECK(report.replicas[1].requests == 0);
  CHECK(report.replicas[1].gpu_w_mean == doctest::Approx(50));
  CHECK(report.power.gpu_w_mean == doctest::Approx(0.5 * (50 + report.replicas[0].gpu_w_mean)));
  CHECK(report.time_split[static_cast<std::size_t>(Part::idle)] == doctest::Approx(0.5));
  double split = 0;
  for (const double joules : report.energy.split) split += joules;
  CHECK(split == doctest::Approx(report.energy.j_total));
}

TEST_CASE("round robin deals requests in turn; the least loaded replica gets the next one") {
  for (const BalancerLaw law : {BalancerLaw::round_robin, BalancerLaw::least_loaded}) {
    auto client = poisson(12, 600);
    Recorder seen;
    report_of(3, client, {}, &seen, law);
    REQUIRE(seen.requests.size() == 600);
    std::vector<int> served(3);
    std::vector<bool> done(600);
    for (const RequestRecord& request : seen.requests) {
      ++served[request.replica];
      CHECK_FALSE(done[static_cast<std::size_t>(request.id)]);
      done[static_cast<std::size_t>(request.id)] = true;
      if (law == BalancerLaw::round_robin)
        CHECK(request.replica == static_cast<std::size_t>(request.id % 3));
    }
    for (const int count : served) CHECK(count >= 150);
  }
}

TEST_CASE("knowing the load shortens the wait") {
  const auto mean_ttft = [](BalancerLaw law) {
    auto client = poisson(45, 3000);
    return *report_of(3, client, {}, nullptr, law).latency_ms.ttft.mean;
  };
  CHECK(mean_ttft(BalancerLaw::least_loaded) < mean_ttft(BalancerLaw::round_robin));
}

TEST_CASE("tokens and energy of replicas add up to the whole's") {
  auto client = poisson(20, 500);
  Recorder seen;
  const Report report = report_of(3, client, {}, &seen, BalancerLaw::least_loaded);
  std::int64_t requests = 0;
  double tokens = 0;
  double running = 0;
  double watts = 0;
  for (const ReplicaReport& replica : report.replicas) {
    requests += replica.requests;
    tokens += replica.output_tok_per_s;
    running += replica.running_mean;
    watts += replica.gpu_w_mean;
  }
  CHECK(requests == 500);
  CHECK(report.throughput.output_tokens == seen.output_tokens());
  CHECK(tokens == doctest::Approx(report.throughput.output_tok_per_s));
  CHECK(running == doctest::Approx(report.running.mean));
  CHECK(watts / 3 == doctest::Approx(report.power.gpu_w_mean));
  CHECK(report.running.peak <= 3 * 8);
  REQUIRE(report.saturation);
  CHECK(report.saturation->verdict == SaturationReport::Verdict::stable);
}
