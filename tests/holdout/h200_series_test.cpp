// Traces and power logs of two H200 serving runs against the simulation, step by step. The host gap
// and the eager prefill of the profile come from these traces; decode steps, their number, the
// running requests and all watts do not.
#include <doctest/doctest.h>

#include "sim/validate/validation.h"

using namespace plateau;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;

Validation series(const std::string& file) {
  ValidationOptions options;
  options.measured = kRoot + "/docs/measurements/h200-2026-11-30/" + file;
  options.base = kRoot + "/scenarios/h200-torch-bf16.yaml";
  options.data_dir = kRoot;
  return validate(options);
}

}  // namespace

TEST_CASE("H200 trace at 256 clients: each decode step within 3 %, the same steps and batches") {
  const Validation trace = series("trace_qwen3_c256_wall256.csv");
  CHECK(trace.metrics.at("step_ms").n == 254);
  CHECK(trace.metrics.at("step_ms").mape_pct <= 3);
  CHECK(trace.metrics.at("decode_steps").worst_pct == 0);
  CHECK(trace.metrics.at("prefill_batches").worst_pct == 0);
  CHECK(trace.metrics.at("running").worst_pct == 0);
  CHECK(trace.metrics.at("mean_running").worst_pct == 0);
  CHECK(trace.metrics.at("seconds").worst_pct <= 3);
}

TEST_CASE("H200 trace with mixed lengths: each decode step within 3 %, mean running within 5 %") {
  const Validation trace = series("trace_qwen3_c512_wall_jitter.csv");
  CHECK(trace.metrics.at("step_ms").n == 546);
  CHECK(trace.metrics.at("step_ms").mape_pct <= 3);
  CHECK(trace.metrics.at("mean_running").worst_pct <= 5);
  CHECK(trace.metrics.at("seconds").worst_pct <= 10);
}

TEST_CASE("H200 power logs: the emulated meter agrees on average within 5 %") {
  for (const char* file : {"power_qwen3_c256_wall256.csv", "power_qwen3_c512_wall_jitter.csv"}) {
    const Validation log = series(file);
    CHECK(log.metrics.at("gpu_w_mean").worst_pct <= 5);
    CHECK(log.metrics.at("gpu_w_meter").n > 100);
  }
}
