// hypothetical.rank_delay: the ranks that wait for a late one.
#include <doctest/doctest.h>

#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"

using namespace plateau;

namespace {

Scenario two_gpus(const std::string& delay, const std::string& interconnect = "nvlink") {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.sets = {"model=qwen3-30b-a3b-tp2",
                  "hardware.count=2",
                  "parallel.tp=2",
                  "calibration.board=C",
                  "workload.concurrency=16",
                  "workload.requests=32",
                  "hardware.interconnect=" + interconnect};
  if (!delay.empty()) options.sets.push_back("hypothetical.rank_delay=" + delay);
  return read_scenario(PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml", options);
}

}  // namespace

TEST_CASE("a rank that waits 5 ms a step draws the profile's wait power for 5 ms, at 100 %") {
  Deployment plain(two_gpus(""), PLATEAU_SOURCE_DIR);
  Deployment late(two_gpus("5 ms"), PLATEAU_SOURCE_DIR);
  const double wait = plain.profile().power_states().wait.value;
  CHECK(wait == doctest::Approx(159.139));  // the smallest all-reduce in a loop: the link is awake
  for (const double batch : {1.0, 16.0, 256.0}) {
    const StepCost on_time = plain.cost(plain.decode_shape(batch, 256));
    const StepCost waited = late.cost(late.decode_shape(batch, 256));
    CHECK(waited.seconds == doctest::Approx(on_time.seconds + 0.005));
    const double expected = (on_time.joules + wait * 0.005) / (on_time.seconds + 0.005);
    CHECK(waited.joules / waited.seconds == doctest::Approx(expected));
    CHECK(waited.busy_seconds - on_time.busy_seconds == doctest::Approx(0.005));
    CHECK(expected < on_time.joules / on_time.seconds);
  }
}

TEST_CASE("without a link that stays awake a waiting rank draws the measured state") {
  Deployment plain(two_gpus("", "pcie_host_staged"), PLATEAU_SOURCE_DIR);
  CHECK(plain.profile().power_states().wait.value == 127);
}

TEST_CASE("a whole run with a late rank is slower and cooler, and says what was assumed") {
  Deployment plain(two_gpus(""), PLATEAU_SOURCE_DIR);
  Deployment late(two_gpus("5 ms"), PLATEAU_SOURCE_DIR);
  const Report on_time = run(plain);
  const Report waited = run(late);
  CHECK(waited.throughput.output_tok_per_s < on_time.throughput.output_tok_per_s);
  CHECK(waited.power.gpu_w_mean < on_time.power.gpu_w_mean);
  const auto steps = static_cast<double>(waited.step.decode_count + waited.step.prefill_count);
  CHECK(waited.throughput.seconds ==
        doctest::Approx(on_time.throughput.seconds + 0.005 * steps).epsilon(0.01));
}

TEST_CASE("one GPU has nobody to wait for") {
  ScenarioOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.sets = {"hypothetical.rank_delay=5 ms"};
  CHECK_THROWS_AS(read_scenario(PLATEAU_SOURCE_DIR "/scenarios/h200-torch-bf16.yaml", options),
                  InputError);
}
