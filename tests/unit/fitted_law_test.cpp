#include "calibration/fitted_law.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/csv.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

DeviceSpec toy_device() {
  DeviceSpec device;
  device.memory_bandwidth = 1e12;
  device.bf16_flops = 1e14;
  return device;
}

OpCall gemm(double m, double n, double k) {
  OpCall call;
  call.op = Op::gemm;
  call.m = m;
  call.n = n;
  call.k = k;
  return call;
}

// 20 % of the roofline at one token, 80 % at 100.
FittedLaw toy_law() {
  FittedLaw law;
  law.key.op = Op::gemm;
  law.features = {Feature::m};
  law.ln_utilisation = KnotGrid({{0, std::log(100)}}, {std::log(0.2), std::log(0.8)});
  law.floor_s = 2e-6;
  law.band = 0.1;
  law.rows = 12;
  law.kernel = "toy";
  return law;
}

std::string complaint(const std::string& text) {
  const std::string path = toy::folder("laws") + "/laws.csv";
  write_file(path, text);
  try {
    read_laws(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fitted law: time is the roofline over the utilisation") {
  const FittedLaw law = toy_law();
  const DeviceSpec device = toy_device();
  const OpCall call = gemm(10, 4096, 4096);
  const double flops = 2.0 * 10 * 4096 * 4096 / 1e14;
  const double bytes = (4096.0 * 4096 * 2 + 10 * 8192 * 2) / 1e12;
  CHECK(reference_seconds(call, device) == doctest::Approx(std::hypot(flops, bytes)));
  const Estimate estimate = law.seconds(call, device);
  CHECK(estimate.value == doctest::Approx(std::hypot(flops, bytes) / 0.4));  // halfway in log m
  CHECK(estimate.source == Source::interpolated);
  CHECK(estimate.high == doctest::Approx(estimate.value * 1.1));
}

TEST_CASE("fitted law: at the edge, just inside and just outside") {
  const FittedLaw law = toy_law();
  const DeviceSpec device = toy_device();
  CHECK(law.seconds(gemm(99.9, 4096, 4096), device).source == Source::interpolated);
  CHECK(law.seconds(gemm(100, 4096, 4096), device).source == Source::interpolated);
  CHECK(law.seconds(gemm(1, 4096, 4096), device).source == Source::interpolated);
  const Estimate beyond = law.seconds(gemm(100.1, 4096, 4096), device);
  CHECK(beyond.source == Source::extrapolated);
  CHECK(beyond.high > beyond.value * 1.2);
  // The edge's utilisation is held, so time grows with the work; the band grows with the distance.
  const Estimate far = law.seconds(gemm(1e6, 4096, 4096), device);
  CHECK(far.value == doctest::Approx(reference_seconds(gemm(1e6, 4096, 4096), device) / 0.8));
  CHECK(far.high / far.value > beyond.high / beyond.value);
  CHECK(far.low > 0);
}

TEST_CASE("fitted law: nothing is faster than the fastest row") {
  CHECK(toy_law().seconds(gemm(1, 8, 8), toy_device()).value == 2e-6);
}

TEST_CASE("fitted law: calls find their key") {
  OpCall call;
  call.op = Op::moe_experts;
  call.weights = DType::nvfp4;
  call.hidden = 6144;
  call.inter = 256;
  call.experts = 256;
  call.top_k = 8;
  CHECK(key_of(call) == LawKey{Op::moe_experts, DType::nvfp4, {6144, 256, 256, 8}});
  call = OpCall{};
  call.op = Op::lm_head;
  CHECK(key_of(call) == LawKey{Op::gemm, DType::bf16, {}});
  call.op = Op::attention_decode;
  call.head_dim = 64;
  call.window_tokens = 128;
  CHECK(key_of(call) == LawKey{Op::attention_decode, DType::bf16, {64, 1, 0, 0}});
  call.op = Op::mla_bmm;
  call.n = 512;
  call.k = 192;
  CHECK(key_of(call).geometry[0] == 0);
  call.n = 256;
  call.k = 512;
  CHECK(key_of(call).geometry[0] == 1);
}

TEST_CASE("fitted law: a wider head than the tabulated one costs its work, not another launch") {
  FittedLaw law = toy_law();
  law.key = {Op::mla_bmm, DType::bf16, {1, 0, 0, 0}};
  law.floor_s = 0;
  OpCall call;
  call.op = Op::mla_bmm;
  call.m = 1;
  call.query_heads = 8;
  call.k = 512;
  call.n = 128;
  const DeviceSpec device = toy_device();
  const double known = reference_seconds(call, device);
  CHECK(law.seconds(call, device).value == doctest::Approx(known / 0.2));
  call.n = 256;  // GLM-5
  const double more = reference_seconds(call, device) - known;
  CHECK(law.seconds(call, device).value == doctest::Approx(known / 0.2 + more / 0.8));
}

TEST_CASE("fitted law: written and read back") {
  FittedLaw other = toy_law();
  other.key = {Op::moe_experts, DType::nvfp4, {6144, 256, 256, 8}};
  other.features = {Feature::active_experts, Feature::rows_per_expert};
  other.ln_utilisation =
      KnotGrid({{std::log(8), std::log(256)}, {0, 1}}, {-1.5, -0.25, -3, std::log(0.0123)});
  const std::string text = write_laws({other, toy_law()});  // sorted on writing
  const std::string path = toy::folder("laws") + "/laws.csv";
  write_file(path, text);
  const std::vector<FittedLaw> laws = read_laws(path);
  REQUIRE(laws.size() == 2);
  CHECK(laws[0].key == toy_law().key);
  CHECK(laws[1].key == other.key);
  CHECK(laws[1].features == other.features);
  CHECK(laws[1].ln_utilisation.values()[3] == doctest::Approx(std::log(0.0123)));
  CHECK(laws[1].ln_utilisation.values()[0] == doctest::Approx(-1.5).epsilon(0.005));
  CHECK(laws[0].floor_s == doctest::Approx(2e-6));
  CHECK(laws[0].kernel == "toy");
  CHECK(write_laws(laws) == text);
}

TEST_CASE("fitted law: a bad laws.csv is refused with line and column") {
  const std::string good = write_laws({toy_law()});
  CHECK(complaint(good).empty());
  const auto with = [&](const std::string& from, const std::string& to) {
    return complaint(toy::replaced(good, from, to));
  };
  CHECK(with("gemm,", "gem,").find(":2:1: op: unknown: \"gem\"") != std::string::npos);
  CHECK(with("bf16", "bf17").find("dtype") != std::string::npos);
  CHECK(with("0/0/0/0", "0/0").find("geometry") != std::string::npos);
  CHECK(with(",m,", ",mm,").find("unknown feature") != std::string::npos);
  CHECK(with("1 100", "1 1").find("ascend") != std::string::npos);
  CHECK(with("1 100", "1 x").find("not a number") != std::string::npos);
  CHECK(with("1 100", "0 100").find("not positive") != std::string::npos);
  CHECK(with("1 100", "1 10 100").find("do not fill") != std::string::npos);
  CHECK(with("1 100", "1 100|1 2").find("one axis for each feature") != std::string::npos);
  CHECK(with(",2,", ",-2,").find("negative") != std::string::npos);
  CHECK(with("floor_us", "floor").find("floor_us: missing column") != std::string::npos);
  CHECK(complaint(good + good.substr(good.find('\n') + 1)).find("not sorted") != std::string::npos);
}
