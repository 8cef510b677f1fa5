// The worked scheduler cases S1 to S9: exact numbers that follow from SGLang's rules (no server was
// measured).
#include <doctest/doctest.h>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

EngineLimits sglang(std::int64_t pool, std::int64_t max_running) {
  EngineLimits limits;
  limits.pool_tokens = pool;
  limits.page_tokens = 64;
  limits.max_running = max_running;
  limits.chunk_tokens = 8192;
  return limits;
}

constexpr std::int64_t kSeedPool = 495488;

double usage(const Recorder& run, std::int64_t pool) {
  return static_cast<double>(run.peak_kv()) / static_cast<double>(pool);
}

}  // namespace

TEST_CASE("S1: 1024 equal requests fit, waves are flat") {
  const auto seen = run("sglang", sglang(kSeedPool, 1024), closed_loop(1024, 3072, 128, 128));
  CHECK(seen.first_wave() == 1024);
  CHECK(seen.mean_running() == 1024);
  CHECK(seen.decode_steps() == 384);
  CHECK(seen.prefill_steps() == 48);
  CHECK(usage(seen, kSeedPool) == doctest::Approx(0.5291).epsilon(1e-4));
  CHECK(seen.retracted() == 0);
}

TEST_CASE("S2: the look-ahead admits 1935 of 2048") {
  const auto seen = run("sglang", sglang(kSeedPool, 2048), closed_loop(2048, 6144, 128, 128));
  CHECK(seen.first_wave() == 1935);
  CHECK(seen.mean_running() == 1536.0);
  CHECK(seen.decode_steps() == 512);
  CHECK(seen.retracted() == 0);
  CHECK(usage(seen, kSeedPool) == doctest::Approx(0.9997).epsilon(1e-4));
}

TEST_CASE("S2 with ten requests a client: every full wave is 1935") {
  const auto seen = run("sglang", sglang(kSeedPool, 2048), closed_loop(2048, 20480, 128, 128));
  CHECK(seen.mean_running() == doctest::Approx(1861.8).epsilon(1e-4));
  CHECK(seen.peak_running() == 1935);
}

TEST_CASE("S3 and S4: 3072 clients, and the cap is not what binds") {
  for (const int cap : {2048, 4096}) {
    CAPTURE(cap);
    const auto seen = run("sglang", sglang(kSeedPool, cap), closed_loop(3072, 9216, 128, 128));
    CHECK(seen.first_wave() == 1935);
    CHECK(seen.mean_running() == doctest::Approx(1843.2).epsilon(1e-12));
    CHECK(seen.decode_steps() == 640);
    CHECK(seen.retracted() == 0);
  }
  const auto ten = run("sglang", sglang(kSeedPool, 2048), closed_loop(3072, 30720, 128, 128));
  CHECK(ten.mean_running() == 1920.0);
}

TEST_CASE("S5: with the radix cache the ratio over-admits and 113 are retracted") {
  auto limits = sglang(kSeedPool, 2048);
  limits.sglang.radix_cache = true;
  const auto seen = run("sglang", limits, closed_loop(2048, 2048, 128, 128));
  CHECK(seen.first_wave() == 2048);
  REQUIRE(seen.retractions.size() == 1);
  const RetractionRecord& retraction = seen.retractions[0];
  CHECK(retraction.requests == 113);
  CHECK(retraction.kv_tokens_freed == 21696);
  CHECK(retraction.recompute_tokens == 113 * (128 + 64));
  CHECK(retraction.new_token_ratio_before == doctest::Approx(0.6358).epsilon(1e-4));
  CHECK(retraction.new_token_ratio_after ==
        doctest::Approx((64 + 20) * 1935.0 / (128 * 1935 + 1)).epsilon(1e-12));
  // By hand: the step that finds 192 tokens stored needs a page for everybody left.
  const auto after = std::find_if(seen.steps.begin(), seen.steps.end(), [](const SeenStep& step) {
    return step.decode() && step.record.running < 2048;
  });
  REQUIRE(after != seen.steps.end());
  CHECK(after->record.running == 1935);
  CHECK(after->shape.decode_context_tokens == 1935 * 193.0);
}

TEST_CASE("S6: the later rules' extra page admits 1919") {
  auto limits = sglang(kSeedPool, 2048);
  limits.sglang.rules = SglangRules::jul_2026;
  for (const int clients : {2048, 3072}) {
    const auto seen = run("sglang", limits, closed_loop(clients, 3 * clients, 128, 128));
    CHECK(seen.first_wave() == 1919);
    CHECK(usage(seen, kSeedPool) == doctest::Approx(0.9915).epsilon(1e-4));
  }
}

TEST_CASE("S7: the later rules' ratio path retracts the same 113") {
  auto limits = sglang(kSeedPool, 2048);
  limits.sglang.rules = SglangRules::jul_2026;
  limits.sglang.ignore_eos = false;
  const auto seen = run("sglang", limits, closed_loop(3072, 3072, 128, 128));
  CHECK(seen.first_wave() == 2048);
  REQUIRE(seen.retractions.size() == 1);
  CHECK(seen.retractions[0].requests == 113);
}

TEST_CASE("S8: uniform lengths from 1 leave the pool half empty") {
  auto workload = closed_loop(2048, 6144, 128, 128);
  workload.input.law = workload.output.law = LengthConfig::Law::sglang_uniform;
  const auto seen = run("sglang", sglang(kSeedPool, 2048), workload);
  CHECK(seen.retracted() == 0);
  CHECK(usage(seen, kSeedPool) > 0.55);
  CHECK(usage(seen, kSeedPool) < 0.65);
}

TEST_CASE("S9: a pool of sixteen requests starts fifteen") {
  for (const int page : {1, 64}) {
    for (const bool radix : {false, true}) {
      auto limits = sglang(4096, 2048);
      limits.page_tokens = page;
      limits.sglang.radix_cache = radix;
      CHECK(run("sglang", limits, closed_loop(100, 100, 128, 128)).first_wave() == 15);
    }
  }
}
