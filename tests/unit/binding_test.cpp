#include "sim/report/binding.h"

#include <doctest/doctest.h>

using namespace plateau;

namespace {

void set(PartValues& values, Part part, double value) {
  values[static_cast<std::size_t>(part)] = value;
}

// A plateau: 1,935 of 2,048 clients run, all-reduce takes 59 % of the time.
BindingInput plateau_run() {
  BindingInput input;
  input.clients = 2048;
  input.queue = {0.95, 1935, 113, 0};
  input.running_mean = 1935;
  input.running_peak = 1935;
  input.max_running_requests = 2048;
  input.kv.capacity_tokens = 495488;
  input.kv.peak_used_tokens = 495360;
  input.kv.wall_requests = 1935;
  set(input.time_split, Part::all_reduce, 0.59);
  set(input.time_split, Part::moe, 0.41);
  input.roofs = {0.10, 0.31, 0, 0};
  input.decode_time_share = 0.6;
  input.decode_curve = {{1024, 3000}, {2048, 3600}};
  return input;
}

// Small batch on fast links: more requests cost next to nothing.
BindingInput starved_run() {
  BindingInput input = plateau_run();
  input.time_split = {};
  set(input.time_split, Part::moe, 0.8);
  set(input.time_split, Part::all_reduce, 0.2);
  input.roofs = {0.15, 0.65, 0, 0};
  input.decode_time_share = 0.95;
  input.decode_curve = {{16, 400}, {32, 780}, {64, 1500}};
  input.running_mean = 32;
  input.running_peak = 32;
  input.queue = {0.95, 32, 200, 0};
  input.kv.wall_requests = 32;
  return input;
}

double elasticity(const BindingReport& binding, const std::string& constraint) {
  for (const Limit& limit : binding.limits) {
    if (limit.constraint == constraint) return limit.elasticity;
  }
  return 0;
}

}  // namespace

TEST_CASE("binding: all-reduce at the plateau, with the KV wall named beside it") {
  const BindingReport b = binding_of(plateau_run());
  CHECK(b.constraint == "all_reduce");
  CHECK(b.concurrency == "kv_pool");
  CHECK(b.step == "all_reduce");
  CHECK(elasticity(b, "all_reduce") == doctest::Approx(0.59));
  CHECK(elasticity(b, "kv_pool") == doctest::Approx(0.6 * (600.0 / 6600) / (1024.0 / 3072)));
  CHECK(b.why ==
        "all-reduce takes 59 % of the time: 1 % faster gives 0.59 % more tokens, 1 % more running "
        "requests "
        "0.16 %; the KV pool holds 1,935 of 2,048 clients");
  CHECK(b.ladder.empty());
}

TEST_CASE("binding: the KV pool when more requests would be nearly free") {
  const BindingReport b = binding_of(starved_run());
  CHECK(b.constraint == "kv_pool");
  CHECK(b.step == "weight_streaming");
  CHECK(b.why ==
        "the KV pool holds 32 of 2,048 clients: 1 % more running requests give 0.90 % more "
        "tokens; in the step "
        "weight streaming takes 65 % of the time");
}

TEST_CASE("binding: the running cap, just reached and just not") {
  BindingInput input = starved_run();
  input.max_running_requests = 32;
  CHECK(binding_of(input).constraint == "running_cap");
  input.max_running_requests = 33;
  CHECK(binding_of(input).constraint == "kv_pool");
  input.max_running_requests = 32;
  input.queue.running_when_queued = 31;  // it was at the cap for a moment only
  CHECK(binding_of(input).constraint == "kv_pool");
}

TEST_CASE("binding: admission when pool and cap are both far away") {
  BindingInput input = starved_run();
  input.kv.wall_requests = 64;
  input.kv.peak_used_tokens = 247744;
  const BindingReport b = binding_of(input);
  CHECK(b.constraint == "admission");
  CHECK(b.concurrency_why ==
        "the admission rule lets 32 run while 200 wait, with at most 50 % of the KV pool in use");
  input.prefill_token_budget = 8192;
  input.queue.prefill_full_share = 0.9;
  CHECK(binding_of(input).constraint == "token_budget");
  input.retractions = {113, 20000};
  CHECK(binding_of(input).constraint == "kv_pool");
}

TEST_CASE("binding: the load when every client runs") {
  BindingInput input = starved_run();
  input.clients = 32;
  input.queue = {0.1, 32, 1, 0};
  const BindingReport b = binding_of(input);
  CHECK(b.constraint == "load");
  CHECK(b.concurrency_why == "all 32 clients fit");
}

TEST_CASE("binding: an open loop that never queues is bound by its load") {
  BindingInput input = plateau_run();
  input.clients = 0;
  input.queue = {};
  const BindingReport b = binding_of(input);
  CHECK(b.constraint == "load");
  CHECK(elasticity(b, "load") == 1);
  CHECK(elasticity(b, "all_reduce") == 0);
  input.queue = {1, 1935, 500, 0};
  const BindingReport full = binding_of(input);
  CHECK(full.constraint == "all_reduce");
  CHECK(full.concurrency_why == "the KV pool holds 1,935 requests while 500 wait");
}

TEST_CASE("binding: launches are the host's, the capture list's or the floor's") {
  BindingInput input = plateau_run();
  input.time_split = {};
  set(input.time_split, Part::launch, 0.7);
  input.roofs = {0, 0.3, 0, 0};
  CHECK(binding_of(input).constraint == "host");
  input.largest_captured_batch = 512;
  CHECK(binding_of(input).constraint == "captured_batch");
  input.largest_captured_batch = 2048;
  CHECK(binding_of(input).constraint == "host");
  input.graph_share = 1;
  CHECK(binding_of(input).constraint == "kernel_floor");
}

TEST_CASE("binding: the power cap takes the clock-sensitive time of capped steps") {
  BindingInput input = plateau_run();
  input.time_split = {};
  input.roofs = {0.2, 0.3, 0, 0.5};
  CHECK(binding_of(input).constraint == "compute");
  input.capped_share = 0.9;
  const BindingReport b = binding_of(input);
  CHECK(b.constraint == "power_cap");
  CHECK(elasticity(b, "power_cap") == doctest::Approx(0.9 * 0.7));
  CHECK(elasticity(b, "compute") == doctest::Approx(0.05));
  CHECK(elasticity(b, "weight_streaming") == doctest::Approx(0.3));
}

TEST_CASE("binding: elasticity of a curve by segment") {
  const std::vector<CurvePoint> linear = {{1, 10}, {2, 20}, {4, 40}};
  const std::vector<CurvePoint> flat = {{1, 10}, {2, 20}, {4, 20}};
  CHECK(*elasticity_at(linear, 3) == doctest::Approx(1));
  CHECK(*elasticity_at(flat, 1.5) == doctest::Approx(1));
  CHECK(*elasticity_at(flat, 3) == doctest::Approx(0));
  CHECK(*elasticity_at(flat, 0.5) == doctest::Approx(1));
  CHECK(*elasticity_at(flat, 9) == doctest::Approx(0));
  CHECK_FALSE(elasticity_at({{5, 10}}, 5));
  CHECK_FALSE(elasticity_at({}, 5));
}

TEST_CASE("binding: a kernel belongs to the roof it nears, or to the floor") {
  DeviceSpec device;
  device.memory_bandwidth = 1e12;
  device.bf16_flops = 1e14;
  OpLine gemm;
  gemm.call.op = Op::gemm;
  gemm.call.part = Part::dense_gemm;
  gemm.call.m = 1;
  gemm.call.n = 10000;
  gemm.call.k = 5000;
  const double seconds = work_of(gemm.call).bytes / 1e12;  // at full bandwidth
  const auto roof_at = [&](double slower) {
    gemm.each.seconds = Estimate::within(seconds * slower, 0, Source::measured);
    return roofs_of({gemm}, device, true)[static_cast<std::size_t>(Part::dense_gemm)];
  };
  CHECK(roof_at(1.99)[static_cast<std::size_t>(Roof::weight_streaming)] == 1);
  CHECK(roof_at(2.01)[static_cast<std::size_t>(Roof::kernel_floor)] == 1);
  gemm.call.m = 4000;
  gemm.each.seconds = Estimate::within(work_of(gemm.call).flops / 1e14 * 1.2, 0, Source::measured);
  CHECK(roofs_of({gemm}, device, true)[static_cast<std::size_t>(Part::dense_gemm)]
                                      [static_cast<std::size_t>(Roof::compute)] == 1);
}

TEST_CASE("binding: without priced operations parts have default roofs") {
  const auto decode = roofs_of({}, {}, true);
  const auto prefill = roofs_of({}, {}, false);
  const auto roof = [](const auto& shares, Part part, Roof r) {
    return shares[static_cast<std::size_t>(part)][static_cast<std::size_t>(r)];
  };
  CHECK(roof(decode, Part::moe, Roof::weight_streaming) == 1);
  CHECK(roof(decode, Part::attention, Roof::kv_streaming) == 1);
  CHECK(roof(decode, Part::norm_etc, Roof::kernel_floor) == 1);
  CHECK(roof(prefill, Part::moe, Roof::compute) == 1);
  CHECK(roof(decode, Part::all_reduce, Roof::kernel_floor) == 0);
}
