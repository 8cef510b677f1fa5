// The worked scheduler cases S1 to S9: exact numbers that follow from SGLang's rules (no server was
// measured).
#include <doctest/doctest.h>

#include <utility>

#include "sim/serving/new_token_ratio.h"
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

TEST_CASE("S2 by hand: the 1935th passes with 2063 > 1935, the 1936th fails with 1808 <= 1936") {
  // Everybody has 127 left but the ones just prefilled; the wall is linear in the pool.
  const auto wave = [](std::int64_t pool) {
    return run("sglang", sglang(pool, 4096), closed_loop(2048, 2048, 128, 128)).first_wave();
  };
  // The 1936th needs pool - 255 * 1936 > 1936: 495,616 tokens do not, a page more does.
  CHECK(wave(495616) == 1935);
  CHECK(wave(495616 + 64) == 1936);
  CHECK(wave(kSeedPool) == 1935);
}

TEST_CASE("a full batch latches: admission is not tried again until a request is seen to end") {
  // Two long requests fill the cap; the queue waits although memory is plenty.
  auto limits = sglang(100000, 2);
  const auto seen = run("sglang", limits, closed_loop(5, 5, 64, 50));
  CHECK(seen.peak_running() == 2);
  // Waves of two, two and one: a prefill, 49 decode steps and the wasted one each.
  CHECK(seen.decode_steps() == 3 * 50);
  CHECK(seen.prefill_steps() == 3);
}

TEST_CASE("a long prompt is prefilled in page-sized chunks, causally attended") {
  auto limits = sglang(100000, 8);
  limits.chunk_tokens = 1000;  // cut to 15 pages of 64
  const auto seen = run("sglang", limits, closed_loop(1, 1, 2500, 2));
  REQUIRE(seen.prefill_steps() == 3);
  double attended = 0;
  for (int i = 0; i < 3; ++i)
    attended += seen.steps[static_cast<std::size_t>(i)].shape.prefill_attended;
  CHECK(attended == 2500.0 * 2501 / 2);
  const StepShape& second = seen.steps[1].shape;
  CHECK(second.prefill_tokens == 960);
  CHECK(second.prefill_context_tokens == 1920);
  CHECK(second.prefill_attended == 960.0 * 960 + 960.0 * 961 / 2);
  CHECK(seen.steps[2].shape.prefill_tokens == 580);
  CHECK(seen.steps[0].record.new_requests == 0);
  CHECK(seen.steps[2].record.new_requests == 1);
}

TEST_CASE("a chunk's rest is filled with the next request of the queue") {
  auto limits = sglang(100000, 8);
  limits.chunk_tokens = 1024;
  const auto seen = run("sglang", limits, closed_loop(3, 3, 640, 2));
  REQUIRE(seen.prefill_steps() == 2);
  CHECK(seen.steps[0].shape.prefill_sequences == 2);  // 640 + 384 of the second
  CHECK(seen.steps[0].record.new_requests == 1);
  CHECK(seen.steps[1].shape.prefill_tokens == 256 + 640);
  CHECK(seen.steps[1].record.new_requests == 2);
}

TEST_CASE("max_prefill_tokens bounds a batch, under the later rules only without chunks") {
  for (const bool july : {false, true}) {
    for (const std::int64_t chunk : {8192, -1}) {
      CAPTURE(july);
      CAPTURE(chunk);
      auto limits = sglang(100000, 64);
      limits.chunk_tokens = chunk;
      limits.sglang.max_prefill_tokens = 256;
      limits.sglang.rules = july ? SglangRules::jul_2026 : SglangRules::feb_2026;
      const auto seen = run("sglang", limits, closed_loop(8, 8, 64, 2));
      CHECK(seen.prefill_steps() == (july && chunk > 0 ? 1 : 2));
    }
  }
}

TEST_CASE("mixed chunk: running requests gain a token in the prefill batch, without a graph") {
  struct Late : Client {
    void start(SendQueue& queue) override {
      queue.send({0, 64, 20, 20, SimTime{}});
      queue.send({1, 64, 20, 20, std::chrono::microseconds(5500)});
    }
  };
  for (const bool mixed : {false, true}) {
    CAPTURE(mixed);
    auto limits = sglang(100000, 64);
    limits.sglang.mixed_chunk = mixed;
    limits.capture_sizes = {1, 2, 4};
    Late client;
    const auto seen = run("sglang", limits, client);
    const auto second = std::find_if(seen.steps.begin() + 1, seen.steps.end(),
                                     [](const SeenStep& step) { return step.prefill(); });
    REQUIRE(second != seen.steps.end());
    CHECK(second->shape.decode_sequences == (mixed ? 1 : 0));
    CHECK_FALSE(second->shape.graph);
    CHECK(second->record.output_tokens == (mixed ? 2 : 1));
    CHECK(seen.steps[1].shape.graph);
    CHECK(seen.output_tokens() == 40);
  }
}

TEST_CASE("a decode batch is padded to the next captured size and eager above the largest") {
  for (const auto& [batch, padded] : {std::pair{1, 1}, {3, 4}, {4, 4}, {5, 8}, {8, 8}, {9, 9}}) {
    CAPTURE(batch);
    auto limits = sglang(100000, 64);
    limits.capture_sizes = {1, 2, 4, 8};
    const auto seen = run("sglang", limits, closed_loop(batch, batch, 64, 3));
    const SeenStep& decode = seen.steps[1];
    REQUIRE(decode.decode());
    CHECK(decode.shape.decode_sequences == batch);
    CHECK(decode.shape.decode_padded == padded);
    CHECK(decode.shape.graph == (batch <= 8));
    CHECK(decode.shape.decode_context_tokens == batch * 65);
    CHECK_FALSE(seen.steps[0].shape.graph);
  }
}

TEST_CASE("num_continuous_decode_steps is ignored unless the engine honours it") {
  struct Late : Client {
    void start(SendQueue& queue) override {
      queue.send({0, 10, 100, 100, SimTime{}});
      queue.send({1, 10, 2, 2, std::chrono::microseconds(1500)});
    }
  };
  const auto steps_before_second = [](int n, bool honour) {
    auto limits = sglang(100000, 64);
    limits.num_continuous_decode_steps = n;
    limits.sglang.honour_continuous_decode_steps = honour;
    Late client;
    const auto seen = run("sglang", limits, client);
    std::int64_t decoded = 0;
    for (const SeenStep& step : seen.steps) {
      if (step.record.new_requests > 0 && decoded > 0) break;
      if (step.decode()) ++decoded;
    }
    return decoded;
  };
  const auto ignored = steps_before_second(1, false);
  CHECK(steps_before_second(16, false) == ignored);
  CHECK(steps_before_second(1, true) == ignored);
  CHECK(steps_before_second(16, true) == 16);
}

TEST_CASE("new_token_ratio falls over 600 decode steps, jumps at a retraction, starts anew") {
  NewTokenRatio ratio(1.0);
  CHECK(ratio.value() == 0.7);
  for (int i = 0; i < 300; ++i) ratio.decay();
  CHECK(ratio.value() == doctest::Approx((0.7 + 0.098) / 2));
  for (int i = 0; i < 400; ++i) ratio.decay();
  CHECK(ratio.value() == doctest::Approx(0.098));
  ratio.estimate(64 * 1935, 128 * 1935, 1935);
  CHECK(ratio.value() == doctest::Approx(0.65625).epsilon(1e-5));
  ratio.estimate(100, 10, 5);
  CHECK(ratio.value() == 1.0);
  ratio.reset();
  CHECK(ratio.value() == 0.7);
  CHECK(NewTokenRatio(0.3).value() == doctest::Approx(0.21));  // DP attention
  CHECK(NewTokenRatio(5).value() == 1.0);
}

TEST_CASE("a retracted request loses the token in flight, keeps the others and is served last") {
  auto limits = sglang(44, 10);
  limits.page_tokens = 1;
  limits.chunk_tokens = 8;  // one prompt a batch: the ones before are charged next to nothing
  limits.sglang.radix_cache = true;
  limits.sglang.schedule_conservativeness = 0.01;
  const auto seen = run("sglang", limits, closed_loop(3, 3, 8, 16));
  REQUIRE(seen.retracted() > 0);
  CHECK(seen.output_tokens() == 3 * 16);
  CHECK(seen.prefill_tokens() == static_cast<double>(3 * 8 + seen.recompute_tokens()));
  REQUIRE(seen.requests.size() == 3);
  CHECK(seen.requests[0].retractions == 0);
  CHECK(seen.requests[2].retractions > 0);
  // 3 * 8 stored and three a step: 20 free slots last six steps; at the seventh the host knows of
  // 1 + 5 tokens, the latest goes, and its token of the sixth step is lost.
  CHECK(seen.retractions[0].requests == 1);
  CHECK(seen.retractions[0].recompute_tokens == 8 + 6);
  CHECK(seen.retractions[0].kv_tokens_freed == 8 + 6);
}
