#include "models/what_if.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace plateau;

namespace {

// Collectives cost 10 us and 1 us per KiB above the first; a GEMM 100 us.
class Costs : public KernelCosts {
 public:
  Costs() {
    gpu_.memory_bandwidth = 1e12;
    gpu_.bf16_flops = 1e14;
    launch_.graph_gap = Estimate::within(1e-6, 0.1, Source::measured);
    launch_.host_step = Estimate::within(1e-3, 0.1, Source::measured);
  }
  OpCost cost(const OpCall& call) const override {
    const bool collective = call.op == Op::all_reduce || call.op == Op::all_gather;
    const double seconds = collective ? 10e-6 + 1e-6 * (call.bytes - 1024) / 1024 : 100e-6;
    return {Estimate::within(seconds, 0.1, Source::measured),
            Estimate::within(200, 0.1, Source::measured)};
  }
  const DeviceSpec& device() const override { return gpu_; }
  const LaunchLaw& launch() const override { return launch_; }
  const PowerStates& power_states() const override { return states_; }

 private:
  DeviceSpec gpu_;
  LaunchLaw launch_;
  PowerStates states_;
};

double seconds_of(const WhatIf& what_if, const OpCall& call) {
  const Costs costs;
  return WhatIfCosts(what_if, costs).cost(call).seconds.value;
}

OpCall reduce_of(double bytes) {
  OpCall call;
  call.op = Op::all_reduce;
  call.part = Part::all_reduce;
  call.bytes = bytes;
  return call;
}

// 40 MB of weights are 40 us of the 100 at 1 TB/s; arithmetic is less.
OpCall gemm() {
  OpCall call;
  call.m = 1;
  call.n = 4000;
  call.k = 5000;
  return call;
}

}  // namespace

TEST_CASE("what-if scales of 1 pass measured costs through to the bit") {
  CHECK(WhatIf{}.real());
  const Costs costs;
  for (const OpCall& call : {reduce_of(12345), gemm()}) {
    CHECK(seconds_of(WhatIf{}, call) == costs.cost(call).seconds.value);
  }
}

TEST_CASE("every what-if key reaches its own scale and nothing else") {
  for (const WhatIfKey& key : what_if_keys()) {
    WhatIf what_if;
    what_if.*key.scale = 0.5;
    CHECK_FALSE(what_if.real());
    int changed = 0;
    for (const WhatIfKey& other : what_if_keys()) changed += what_if.*other.scale != 1 ? 1 : 0;
    CHECK(changed == 1);
  }
}

TEST_CASE("an all-reduce scale multiplies the call, a bus scale what is above its latency") {
  WhatIf half;
  half.all_reduce = 0.5;
  CHECK(seconds_of(half, reduce_of(11 * 1024)) == doctest::Approx(10e-6));
  WhatIf bus;
  bus.bus_bandwidth = 2;
  CHECK(seconds_of(bus, reduce_of(11 * 1024)) == doctest::Approx(15e-6));
  CHECK(seconds_of(bus, reduce_of(1024)) == doctest::Approx(10e-6));
  OpCall gather = reduce_of(11 * 1024);
  gather.op = Op::all_gather;
  CHECK(seconds_of(half, gather) == doctest::Approx(20e-6));
}

TEST_CASE("memory bandwidth moves the streamed part of a kernel, the floor what is above it") {
  const double streamed = work_of(gemm()).bytes / 1e12;
  CHECK(streamed == doctest::Approx(40e-6).epsilon(0.01));
  WhatIf memory;
  memory.memory_bandwidth = 2;
  CHECK(seconds_of(memory, gemm()) == doctest::Approx(100e-6 - streamed / 2));
  WhatIf floor;
  floor.kernel_floor = 0;
  CHECK(seconds_of(floor, gemm()) == doctest::Approx(streamed));
  WhatIf tensor;
  tensor.tensor_rate = 2;
  CHECK(seconds_of(tensor, gemm()) == doctest::Approx(100e-6));
}

TEST_CASE("a part's time scale leaves other parts and the watts alone") {
  WhatIf what_if;
  what_if.dense_gemm_time = 0.25;
  const Costs costs;
  const OpCost cost = WhatIfCosts(what_if, costs).cost(gemm());
  CHECK(cost.seconds.value == doctest::Approx(25e-6));
  CHECK(cost.seconds.high == doctest::Approx(27.5e-6));
  CHECK(cost.watts.value == 200);
  OpCall moe = gemm();
  moe.part = Part::moe;
  CHECK(seconds_of(what_if, moe) == doctest::Approx(100e-6));
}

TEST_CASE("launch and host scales multiply the launch law") {
  WhatIf what_if;
  what_if.launch = 3;
  what_if.host = 0;
  const Costs costs;
  const WhatIfCosts scaled(what_if, costs);
  CHECK(scaled.launch().graph_gap.value == doctest::Approx(3e-6));
  CHECK(scaled.launch().host_step.value == 0);
  CHECK(WhatIfCosts(WhatIf{}, costs).launch().host_step.value == 1e-3);
}

TEST_CASE("experts touched stay between top_k and all of them") {
  ExpertLoad load;
  load.active_experts = 100;
  WhatIf what_if;
  what_if.active_experts = 0.5;
  CHECK(what_if_load(what_if, load, 256, 8).active_experts == 50);
  what_if.active_experts = 0.01;
  CHECK(what_if_load(what_if, load, 256, 8).active_experts == 8);
  what_if.active_experts = 10;
  CHECK(what_if_load(what_if, load, 256, 8).active_experts == 256);
  load.active_experts = 3;  // fewer than top_k: one GPU's share
  what_if.active_experts = 0.5;
  CHECK(what_if_load(what_if, load, 256, 8).active_experts == 3);
}
