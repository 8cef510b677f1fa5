// The profiles in calibration/data as a user meets them: they load, they are small, and figures
// that were published about the same tables come back. Nothing here needs the tables themselves.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "calibration/fit/expert_counts.h"
#include "calibration/fitted_profile.h"
#include "calibration/profile.h"

using namespace plateau;

namespace {

struct Shipped {
  const char* name;
  Interconnect interconnect;
};

const Shipped kShipped[] = {
    {"rtx-pro-6000-server/sglang-0.5.14", Interconnect::pcie_host_staged},
    {"h200-sxm/sglang-0.5.14", Interconnect::nvlink},
    {"b200-sxm/sglang-0.5.10", Interconnect::nvlink},
};

std::unique_ptr<Profile> load(const Shipped& shipped) {
  ProfileOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.name = shipped.name;
  options.interconnect = shipped.interconnect;
  options.ranks = 8;
  return load_profile(options);
}

OpCall glm5_experts(double tokens, double active) {
  OpCall call;
  call.op = Op::moe_experts;
  call.weights = DType::nvfp4;
  call.m = tokens;
  call.hidden = 6144;
  call.inter = 256;  // 2048 over 8 GPUs
  call.experts = 256;
  call.top_k = 8;
  call.active_experts = active;
  return call;
}

OpCall gemm(double m, double n, double k, DType dtype) {
  OpCall call;
  call.op = Op::gemm;
  call.weights = dtype;
  call.m = m;
  call.n = n;
  call.k = k;
  return call;
}

double us(const Profile& profile, const OpCall& call) {
  return profile.cost(call).seconds.value * 1e6;
}

}  // namespace

TEST_CASE("shipped profiles: load without warnings, stay small, name their source and digests") {
  for (const Shipped& shipped : kShipped) {
    CAPTURE(shipped.name);
    const auto profile = load(shipped);
    CHECK(profile->warnings().empty());
    const Provenance& provenance = profile->provenance();
    CHECK(provenance.source.find("095f58a51c4ca8e61b66ec108d86f223f8d559ce") != std::string::npos);
    CHECK(provenance.licence == "Apache-2.0");
    CHECK(provenance.tables.size() == 3);
    std::uintmax_t bytes = 0;
    for (const TableInfo& table : provenance.tables) {
      CHECK(table.digest.size() == 16);
      bytes += std::filesystem::file_size(std::string(PLATEAU_SOURCE_DIR) + "/calibration/data/" +
                                          shipped.name + "/" + table.name);
    }
    CHECK(bytes < 250'000);
  }
}

TEST_CASE("shipped profiles: utilisation stays near what hardware can do") {
  for (const Shipped& shipped : kShipped) {
    CAPTURE(shipped.name);
    const auto profile = load(shipped);
    const auto& fitted = dynamic_cast<const FittedProfile&>(*profile);
    for (const FittedLaw& law : fitted.laws()) {
      if (law.key.op != Op::gemm) continue;
      // hypot of both limits reaches sqrt(2) when a kernel meets both; corners of the grid that no
      // row reaches may lie above.
      for (const double value : law.ln_utilisation.values()) CHECK(std::exp(value) < 1.8);
      CHECK(law.floor_s > 1e-6);
    }
  }
}

TEST_CASE("shipped profiles: GLM-5 experts on RTX PRO 6000 are linear in the active experts") {
  // Published fit of the same table (NVFP4, TP8): 45 us + 2.33 us per active expert, R^2 0.997,
  // over balanced and power-law rows at 48 tokens and less.
  const auto profile = load(kShipped[0]);
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, sum_yy = 0, n = 0;
  for (double tokens = 1; tokens <= 32; tokens *= 2) {
    const double active = 8 * tokens;
    const double time = us(*profile, glm5_experts(tokens, active));
    sum_x += active;
    sum_y += time;
    sum_xx += active * active;
    sum_xy += active * time;
    sum_yy += time * time;
    ++n;
  }
  const double slope = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
  const double start = (sum_y - slope * sum_x) / n;
  const double r = (n * sum_xy - sum_x * sum_y) /
                   std::sqrt((n * sum_xx - sum_x * sum_x) * (n * sum_yy - sum_y * sum_y));
  CHECK(slope == doctest::Approx(2.33).epsilon(0.05));
  CHECK(start == doctest::Approx(45).epsilon(0.15));
  CHECK(r * r > 0.99);
  // Plateau: 626 us + 0.219 us per token to 2048 tokens.
  CHECK(us(*profile, glm5_experts(64, 256)) == doctest::Approx(626 + 0.219 * 64).epsilon(0.04));
  CHECK(us(*profile, glm5_experts(1935, 256)) == doctest::Approx(626 + 0.219 * 1935).epsilon(0.04));
}

TEST_CASE(
    "shipped profiles: NVFP4 GEMM on RTX PRO 6000 is K-loop latency while the grid is small") {
  // t = 4.0 us + 3.43 ns * K for N <= 2048, M <= 128 (published fit of the same table, error 1 % at
  // its own shapes; other rows below 128 tokens lie up to 8 % above it).
  const auto profile = load(kShipped[0]);
  for (const double k : {2048.0, 4096.0, 6144.0, 8192.0}) {
    for (const double m : {1.0, 16.0, 64.0, 128.0}) {
      for (const double n : {512.0, 2048.0}) {
        CAPTURE(k);
        CAPTURE(m);
        CAPTURE(n);
        CHECK(us(*profile, gemm(m, n, k, DType::nvfp4)) ==
              doctest::Approx(4.0 + 3.43e-3 * k).epsilon(0.07));
      }
    }
  }
}

TEST_CASE(
    "shipped profiles: 8-GPU all-reduce over PCIe as measured, its dip included; peer-to-peer is "
    "faster") {
  ProfileOptions wanted{
      PLATEAU_SOURCE_DIR, kShipped[0].name, Interconnect::pcie_host_staged, 8, "", "table", ""};
  const auto staged = load_profile(wanted);
  wanted.interconnect = Interconnect::pcie;
  const auto peer = load_profile(wanted);
  OpCall call;
  call.op = Op::all_reduce;
  call.ranks = 8;
  for (const auto& [elements, time] :
       {std::pair{256.0, 24.57}, {262144.0, 156.1}, {524288.0, 131.5}, {16777216.0, 2494.0}}) {
    call.bytes = 2 * elements;
    const Estimate price = staged->cost(call).seconds;
    CHECK(price.value * 1e6 == doctest::Approx(time).epsilon(1e-6));
    CHECK(price.source == Source::measured);
    const Estimate direct = peer->cost(call).seconds;
    CHECK(direct.value <= price.value);
    CHECK(direct.value * 1e6 ==
          doctest::Approx(24.57 + (time - 24.57) * 23.6 / 37.6).epsilon(1e-6));
    CHECK(direct.source == Source::extrapolated);
  }
  CHECK(staged->cost(call).watts.value == 140);
}

TEST_CASE("shipped profiles: B200's padded expert kernel follows the hottest expert") {
  // sglang 0.5.10, NVFP4, TP8, 2048 tokens: 302.5 us balanced, 643.6 us under power law 1.2.
  const auto profile = load(kShipped[2]);
  for (const auto& [law, time] : {std::pair{"balanced", 302.5}, {"power_law_1.2", 643.6}}) {
    const ExpertCounts counts = expert_counts(256, 8, 2048, law);
    OpCall call = glm5_experts(2048, counts.active);
    call.rows_max_over_mean = counts.max_over_mean;
    CHECK(us(*profile, call) == doctest::Approx(time).epsilon(0.03));
  }
}

TEST_CASE("shipped profiles: DSA decode on B200 adds up to the measured block") {
  // dsa_generation_module, sglang 0.5.10, GLM-5, bf16 projections, fp8 KV, 8 heads: 80 us at batch
  // 64 and 1 token of context, 115 us at 2049.
  const auto profile = load(kShipped[2]);
  OpCall call;
  call.op = Op::mla_decode;
  call.weights = DType::fp8;
  call.sequences = 64;
  call.new_tokens = 1;
  call.query_heads = 8;
  call.kv_heads = 1;
  call.head_dim = 576;
  call.sparse_tokens = 2048;
  call.context_tokens = 2;
  const double few = us(*profile, call);
  call.context_tokens = 2048;
  const double many = us(*profile, call);
  CHECK(profile->cost(call).seconds.source == Source::interpolated);
  CHECK(many - few == doctest::Approx(115 - 80).epsilon(0.25));
}
