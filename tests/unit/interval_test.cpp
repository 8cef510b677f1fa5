// Repetitions of a run: noise of the stated size, and the same noise for the same replica.
#include "sim/interval/interval.h"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/deployment/run.h"
#include "sim/interval/noisy_costs.h"
#include "sim/scenario/read_scenario.h"

using namespace plateau;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;

// Prices everything at 10 us +20 % -10 % and 300 W, watts exactly known.
class FlatProfile : public Profile {
 public:
  OpCost cost(const OpCall&) const override {
    return {{10e-6, 9e-6, 12e-6, Source::interpolated}, {300, 300, 300, Source::measured}};
  }
  const DeviceSpec& device() const override { return device_; }
  const LaunchLaw& launch() const override { return launch_; }
  const PowerStates& power_states() const override { return power_; }
  const Provenance& provenance() const override { return provenance_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  DeviceSpec device_;
  LaunchLaw launch_;
  PowerStates power_;
  Provenance provenance_;
  std::vector<std::string> warnings_;
};

Scenario scenario() {
  ScenarioOptions options;
  options.data_dir = kRoot;
  options.sets = {"workload.requests=16", "workload.concurrency=8",
                  "workload.output_length=8 tokens"};
  return read_scenario(kRoot + "/scenarios/qwen3-30b-a3b-1x-h200.yaml", options);
}

}  // namespace

TEST_CASE("an estimate shifted by 1.645 deviations stands at the end of its band") {
  const Estimate estimate{10, 9, 12, Source::measured};
  CHECK(shifted(estimate, 1.6448536269514722).value == doctest::Approx(12));
  CHECK(shifted(estimate, -1.6448536269514722).value == doctest::Approx(9));
  CHECK(shifted(estimate, 0).value == 10);
  CHECK(shifted({0, 0, 0, Source::measured}, 2).value == 0);
  const Estimate vague = shifted({10, 0, 30, Source::assumed}, -3);
  CHECK(vague.value > 0);
  CHECK(vague.value < 10);
}

TEST_CASE("one replica is wrong in one way, and 95 % of replicas lie below the upper bound") {
  const auto flat = std::make_shared<FlatProfile>();
  OpCall call;
  call.op = Op::gemm;
  int below = 0;
  int above = 0;
  constexpr int kReplicas = 4000;
  for (std::uint32_t r = 1; r <= kReplicas; ++r) {
    const NoisyCosts noisy(flat, 1, r);
    const double seconds = noisy.cost(call).seconds.value;
    CHECK(noisy.cost(call).seconds.value == seconds);
    CHECK(noisy.cost(call).watts.value == 300);
    below += seconds < 9e-6 ? 1 : 0;
    above += seconds > 12e-6 ? 1 : 0;
  }
  // Binomial(4000, 0.05): mean 200, deviation 13.8; five deviations.
  CHECK(std::abs(below - 200) < 69);
  CHECK(std::abs(above - 200) < 69);
  CHECK(NoisyCosts(flat, 1, 1).cost(call).seconds.value !=
        NoisyCosts(flat, 1, 2).cost(call).seconds.value);
  CHECK(NoisyCosts(flat, 1, 1).cost(call).seconds.value !=
        NoisyCosts(flat, 2, 1).cost(call).seconds.value);
  OpCall other = call;
  other.op = Op::moe_experts;
  CHECK(NoisyCosts(flat, 1, 1).cost(call).seconds.value !=
        NoisyCosts(flat, 1, 1).cost(other).seconds.value);
}

TEST_CASE("p5 and p95 lie between order statistics") {
  CHECK_FALSE(interval_of({}));
  std::vector<double> sample;
  for (int i = 100; i >= 0; --i) sample.push_back(i);
  const auto interval = interval_of(sample);
  REQUIRE(interval);
  CHECK(interval->low == doctest::Approx(5));
  CHECK(interval->high == doctest::Approx(95));
  CHECK(interval_of({7.0})->low == 7);
}

TEST_CASE("intervals are reproducible and hold the run itself") {
  const Scenario s = scenario();
  const auto profile = load_profile_of(s, kRoot);
  const IntervalReport report = intervals(s, profile, 20);
  const IntervalReport again = intervals(s, profile, 20);
  REQUIRE(report.output_tok_per_s);
  CHECK(report.output_tok_per_s->low == again.output_tok_per_s->low);
  Deployment deployment(s, profile, make_routing(s));
  const double value = run(deployment).throughput.output_tok_per_s;
  CHECK(report.output_tok_per_s->low < value);
  CHECK(report.output_tok_per_s->high > value);
  CHECK(report.gpu_w_mean->high > report.gpu_w_mean->low);
}
