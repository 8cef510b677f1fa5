// Money and power beside the GPUs, by hand; and how prices and limits are read.
#include <doctest/doctest.h>

#include "sim/report/cost.h"
#include "sim/report/load_text.h"
#include "tests/support/scenario_text.h"

using namespace plateau;
using namespace plateau::test;

namespace {

Scenario read(const std::string& more) {
  const TemporaryFolder folder;
  return read_scenario(folder.write("s.yaml", kSmallScenario + more), small_options());
}

std::string problems_of(const std::string& more) {
  try {
    read(more);
  } catch (const InputError& error) {
    std::string text;
    for (const Problem& problem : error.problems())
      text += problem.key + ": " + problem.message + "\n";
    return text;
  }
  return "";
}

Report sixteen_gpus() {
  Report report;
  report.subject.gpus = 16;
  report.power.gpu_w_mean = 300;
  report.throughput.output_tok_per_s = 4000;
  report.throughput.total_tok_per_s = 10000;
  return report;
}

}  // namespace

TEST_CASE("cost: GPUs by the hour, energy at the site's meter, per million tokens") {
  const Scenario s =
      read("cost: {gpu_hour: 2.5 USD, kwh: 0.12USD, pue: 1.25, host_power: 0.8 kW}\n");
  REQUIRE(s.prices);
  Report report = sixteen_gpus();
  report.goodput.emplace();
  report.goodput->output_tok_per_s = 1000;
  const CostReport cost = cost_of(*s.prices, report);
  CHECK(cost.currency == "USD");
  CHECK(cost.hosts == 2);
  CHECK(*cost.rack_w == doctest::Approx(16 * 300 + 2 * 800));
  CHECK(*cost.site_w == doctest::Approx(6400 * 1.25));
  CHECK(*cost.gpus_per_hour == doctest::Approx(40));
  CHECK(*cost.energy_per_hour == doctest::Approx(8 * 0.12));
  CHECK(*cost.per_hour == doctest::Approx(40.96));
  CHECK(*cost.per_million_output_tokens == doctest::Approx(40.96 / 14.4));  // 14.4 M tokens an hour
  CHECK(*cost.per_million_total_tokens == doctest::Approx(40.96 / 36));
  CHECK(*cost.per_million_good_output_tokens == doctest::Approx(40.96 / 3.6));
  CHECK_FALSE(cost.per_million_output_tokens_steady);
  CHECK(cost_text(cost).find("2.84 USD per million output tokens") == 0);
}

TEST_CASE("cost: the steady state has its own tokens and power") {
  const Scenario s = read("cost: {kwh: 0.1 EUR, pue: 1, host_power: 0 W, gpus_per_host: 16}\n");
  Report report = sixteen_gpus();
  report.steady_state.output_tok_per_s = 5000;
  report.steady_state.gpu_w_mean = 400;
  const CostReport cost = cost_of(*s.prices, report);
  CHECK(cost.hosts == 1);
  CHECK(*cost.per_hour == doctest::Approx(0.48));
  CHECK(*cost.per_million_output_tokens_steady == doctest::Approx(0.64 / 18));
}

TEST_CASE("cost: what is not given stays missing") {
  const CostReport rent = cost_of(*read("cost: {gpu_hour: 2 USD}\n").prices, sixteen_gpus());
  CHECK_FALSE(rent.rack_w);
  CHECK_FALSE(rent.energy_per_hour);
  CHECK(*rent.per_hour == 32);
  const CostReport power = cost_of(*read("cost: {host_power: 800 W}\n").prices, sixteen_gpus());
  CHECK(*power.rack_w == 6400);
  CHECK_FALSE(power.site_w);
  CHECK_FALSE(power.per_hour);
  CHECK_FALSE(power.per_million_output_tokens);
  CHECK_FALSE(read("").prices);
}

TEST_CASE("cost: prices carry one currency, and energy needs hosts and PUE") {
  CHECK(problems_of("cost: {gpu_hour: 2.5}\n") == "cost.gpu_hour: `2.5` is not a price\n");
  CHECK(problems_of("cost: {gpu_hour: 2.5 usd}\n") == "cost.gpu_hour: `2.5 usd` is not a price\n");
  CHECK(problems_of("cost: {gpu_hour: -1 USD}\n") == "cost.gpu_hour: `-1 USD` is not a price\n");
  CHECK(problems_of("cost: {gpu_hour: 2 USD, kwh: 0.1 EUR, pue: 1.2, host_power: 1 kW}\n") ==
        "cost.kwh: is in EUR, another price in USD\n");
  CHECK(problems_of("cost: {kwh: 0.1 EUR}\n") ==
        "cost.host_power: is missing\ncost.pue: is missing\n");
}

TEST_CASE("limits: a latency and what of it is limited") {
  const auto limits =
      read("limits: {ttft: 2 s, tpot_mean: 40 ms, e2e_p50: 1 min}\n").latency_limits;
  REQUIRE(limits.size() == 3);
  CHECK(limits[0].name == "ttft");
  CHECK(limits[0].ms == 2000);
  CHECK(limits[0].permille == 990);
  CHECK(limits[1].metric == LatencyLimit::Metric::tpot);
  CHECK_FALSE(limits[1].permille);
  CHECK(limits[2].ms == 60000);
  CHECK(limits[2].permille == 500);
  CHECK(problems_of("limits: {ttft_p98: 2 s}\n").find("limits.ttft_p98: unknown key") == 0);
  CHECK(problems_of("limits: {ttft: 2}\n").find("has no unit") != std::string::npos);
  CHECK(problems_of("limits: {ttft: 2 s, ttft_p99: 3 s}\n") ==
        "limits.ttft_p99: is the same limit as ttft\n");
}
