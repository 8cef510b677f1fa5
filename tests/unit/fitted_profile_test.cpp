#include "calibration/fitted_profile.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

const char* const kLaws =
    R"(op,dtype,geometry,features,knots,utilisation_pct,floor_us,band,rows,kernel
gemm,bf16,0/0/0/0,m,1 64,50 50,1,0.1,9,toy
gemm,fp8,0/0/0/0,m,1 64,90 90,1,0.1,9,toy
attention_decode,bf16,128/0/0/0,context_tokens,16 1024,40 40,1,0.1,9,toy
mla_decode,bf16,0/0/0/0,context_tokens,16 1024,40 40,1,0.1,9,toy
moe_experts,bf16,0/0/0/0,active_experts,1 64,30 30,1,0.3,9,toy
moe_experts,bf16,1024/512/64/4,active_experts,4 64,60 60,1,0.05,9,toy
)";

const char* const kCurves = R"(op,path,ranks,bytes,us
all_gather,nccl,8,1024,10
all_reduce,nccl,2,1024,9
all_reduce,nccl,8,1024,20
all_reduce,nccl,8,16777216,400
all_reduce,custom,2,1024,4
all_reduce,custom,8,1024,5
all_reduce,custom,8,8388608,100
)";

ProfileOptions options(const std::string& root) {
  ProfileOptions options;
  options.data_dir = root;
  options.name = "toy/p";
  options.interconnect = Interconnect::pcie;
  return options;
}

std::string toy_root(const std::string& meta = toy::meta()) {
  return toy::write_profile("fitted_profile", meta, kLaws, kCurves);
}

std::unique_ptr<Profile> toy_profile() { return load_profile(options(toy_root())); }

std::unique_ptr<Profile> nvlink_profile() {
  ProfileOptions wanted =
      options(toy_root(toy::replaced(toy::meta(), "interconnect: pcie", "interconnect: nvlink")));
  wanted.interconnect = Interconnect::nvlink;
  wanted.ranks = 8;
  return load_profile(wanted);
}

OpCall gemm(double m, DType dtype) {
  OpCall call;
  call.op = Op::gemm;
  call.weights = dtype;
  call.m = m;
  call.n = 64;
  call.k = 64;
  return call;
}

OpCall experts(double inter) {
  OpCall call;
  call.op = Op::moe_experts;
  call.m = 16;
  call.hidden = 1024;
  call.inter = inter;
  call.experts = 64;
  call.top_k = 4;
  call.active_experts = 32;
  return call;
}

OpCall all_reduce(int ranks, double bytes) {
  OpCall call;
  call.op = Op::all_reduce;
  call.ranks = ranks;
  call.bytes = bytes;
  return call;
}

std::string complaint(const ProfileOptions& wanted) {
  try {
    load_profile(wanted);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fitted profile: exact law, sibling type, any geometry") {
  const auto profile = toy_profile();
  CHECK(profile->cost(gemm(8, DType::bf16)).seconds.source == Source::interpolated);
  const Estimate sibling = profile->cost(gemm(8, DType::fp8_block)).seconds;
  CHECK(sibling.source == Source::extrapolated);
  CHECK(sibling.high >= sibling.value * 1.25);
  // int4 has no kernel here: bf16's share of the int4 roofline.
  CHECK(profile->cost(gemm(8, DType::int4)).seconds.source == Source::extrapolated);
  const Estimate exact = profile->cost(experts(512)).seconds;
  const Estimate general = profile->cost(experts(256)).seconds;
  CHECK(exact.high == doctest::Approx(exact.value * 1.05));
  CHECK(general.high == doctest::Approx(general.value * 1.3));
}

TEST_CASE("fitted profile: what no law comes near is refused, never invented") {
  const auto profile = toy_profile();
  OpCall prefill;
  prefill.op = Op::attention_prefill;
  prefill.sequences = 1;
  prefill.new_tokens = 16;
  prefill.context_tokens = 16;
  prefill.query_heads = prefill.kv_heads = 4;
  prefill.head_dim = 128;
  CHECK_THROWS_AS(profile->cost(prefill), std::invalid_argument);
  CHECK_THROWS_AS(profile->cost(gemm(8, DType::nvfp4)), std::invalid_argument);
}

TEST_CASE("fitted profile: weights are never read faster than memory gives them") {
  const auto profile = toy_profile();
  OpCall call = gemm(1, DType::fp8);
  call.n = call.k = 8192;
  // 90 % of 1 TB/s by the law, 900 GB/s by the stream: equal; at fp8's 90 % the stream rules.
  const double stream = 8192.0 * 8192 / 900e9;
  CHECK(profile->cost(call).seconds.value >= stream);
  CHECK(profile->cost(call).seconds.value == doctest::Approx(stream).epsilon(0.01));
}

TEST_CASE("fitted profile: sparse attention and other head widths take the nearest law") {
  const auto profile = toy_profile();
  OpCall call;
  call.op = Op::mla_decode;
  call.sequences = 4;
  call.new_tokens = 1;
  call.context_tokens = 512;
  call.query_heads = 16;
  call.kv_heads = 1;
  call.head_dim = 576;
  CHECK(profile->cost(call).seconds.source == Source::interpolated);
  call.sparse_tokens = 2048;
  const Estimate sparse = profile->cost(call).seconds;
  CHECK(sparse.source == Source::extrapolated);
  // A cache in another type is as slow as the kernel that was measured.
  call.weights = DType::fp8;
  CHECK(profile->cost(call).seconds.value == doctest::Approx(sparse.value));
  OpCall narrow;
  narrow.op = Op::attention_decode;
  narrow.sequences = 4;
  narrow.new_tokens = 1;
  narrow.context_tokens = 512;
  narrow.query_heads = narrow.kv_heads = 4;
  narrow.head_dim = 96;
  CHECK(profile->cost(narrow).seconds.source == Source::extrapolated);
}

TEST_CASE("fitted profile: attention at KV bandwidth when asked") {
  ProfileOptions wanted = options(toy_root());
  wanted.attention = "kv_bandwidth";
  const auto profile = load_profile(wanted);
  OpCall call;
  call.op = Op::attention_decode;
  call.sequences = 64;
  call.new_tokens = 1;
  call.context_tokens = 1000;
  call.query_heads = 8;
  call.kv_heads = 8;
  call.head_dim = 128;
  const Estimate price = profile->cost(call).seconds;
  CHECK(price.value == doctest::Approx(64 * 1000 * 2 * 8 * 128 * 2 / 900e9 + 2e-6));
  CHECK(price.source == Source::assumed);
  wanted.attention = "kv-bandwith";
  CHECK(complaint(wanted).find("table or kv_bandwidth") != std::string::npos);
}

TEST_CASE("fitted profile: all-reduce takes the engine's own up to 8 MiB over NVLink, else NCCL") {
  const auto nvlink = nvlink_profile();
  CHECK(nvlink->cost(all_reduce(8, 1024)).seconds.value == doctest::Approx(5e-6));
  CHECK(nvlink->cost(all_reduce(8, 8388608)).seconds.value == doctest::Approx(100e-6));
  CHECK(nvlink->cost(all_reduce(8, 16777216)).seconds.value == doctest::Approx(400e-6));
  CHECK(nvlink->cost(all_reduce(8, 8388609)).seconds.value > 200e-6);
  const auto pcie = toy_profile();
  CHECK(pcie->cost(all_reduce(8, 1024)).seconds.value == doctest::Approx(20e-6));
  CHECK(pcie->cost(all_reduce(2, 1024)).seconds.value == doctest::Approx(4e-6));
  CHECK(pcie->cost(all_reduce(1, 1024)).seconds.value == 0);
  CHECK_THROWS_AS(pcie->cost(all_reduce(3, 1024)), std::invalid_argument);
}

TEST_CASE("fitted profile: hosts differ, so collectives over PCIe carry a band both ways") {
  ProfileOptions wanted = options(toy_root());
  const Estimate pcie = load_profile(wanted)->cost(all_reduce(8, 1024)).seconds;
  wanted.interconnect = Interconnect::pcie_host_staged;
  const Estimate staged = load_profile(wanted)->cost(all_reduce(8, 1024)).seconds;
  CHECK(staged.value == pcie.value);
  CHECK(staged.high == doctest::Approx(1.25 * staged.value));
  CHECK(staged.low < 0.85 * staged.value);
}

TEST_CASE("fitted profile: refuses what its tables cannot know") {
  ProfileOptions wanted = options(toy_root());
  wanted.ranks = 8;
  wanted.interconnect = Interconnect::nvlink;
  CHECK(complaint(wanted).find("hardware.interconnect") != std::string::npos);
  wanted.interconnect = Interconnect::pcie;
  wanted.ranks = 6;
  CHECK(complaint(wanted).find("no all-reduce over 6 GPUs") != std::string::npos);
  wanted.name = "toy/q";
  CHECK(complaint(wanted).find("did you mean toy/p") != std::string::npos);
  wanted.name = "../../etc";
  CHECK_FALSE(complaint(wanted).empty());
  wanted.name = "";
  CHECK_FALSE(complaint(wanted).empty());
}

TEST_CASE("fitted profile: elementwise kernels are assumed, combine is inside the experts") {
  const auto profile = toy_profile();
  OpCall call;
  call.op = Op::rms_norm;
  call.m = 1000;
  call.k = 1000;
  const Estimate norm = profile->cost(call).seconds;
  CHECK(norm.source == Source::assumed);
  CHECK(norm.value == doctest::Approx(2e-6 + 4e6 / 0.8e12));
  call.op = Op::residual_add;  // fused into the norm that follows
  CHECK(profile->cost(call).seconds.value == doctest::Approx(6e6 / 0.8e12));
  call.op = Op::moe_combine;
  CHECK(profile->cost(call).seconds.value == 0);
}

TEST_CASE("fitted profile: a waiting collective draws the wait power, a board its gain") {
  const std::string root = toy_root();
  ProfileOptions wanted = options(root);
  const auto own = load_profile(wanted);
  CHECK(own->cost(all_reduce(8, 1024)).watts.value == 60);
  OpCall call = gemm(64, DType::bf16);
  call.n = call.k = 4096;
  const double watts = own->cost(call).watts.value;
  CHECK(watts > 70);
  CHECK(watts < 300);
  wanted.board = "B";
  CHECK(load_profile(wanted)->cost(call).watts.value == doctest::Approx(70 + 0.8 * (watts - 70)));
  wanted.board = "Z";
  const auto other = load_profile(wanted);
  CHECK(other->cost(call).watts.value == doctest::Approx(watts));
  CHECK(other->warnings().size() == 1);
  CHECK(other->cost(call).watts.high > own->cost(call).watts.high);
}

TEST_CASE("fitted profile: listed by name") {
  const auto profiles = list_profiles(toy_root());
  REQUIRE(profiles.size() == 1);
  CHECK(profiles[0].name == "toy/p");
  CHECK(profiles[0].summary == "fitted, toy 1, 2026-01-01");
  CHECK(list_profiles("/nowhere").empty());
}
