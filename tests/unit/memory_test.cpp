#include <doctest/doctest.h>

#include <stdexcept>

#include "models/memory.h"
#include "tests/support/sample_models.h"

using namespace plateau;

TEST_CASE("GLM-5 has 743.9 billion parameters, 41.8 billion of them active") {
  const ModelSpec spec = sample_glm5();
  const ModuleSizes sizes = parameters(spec);
  CHECK(sizes.routed_experts == 75.0 * 256 * 3 * 6144 * 2048);
  CHECK(sizes.total() / 1e9 == doctest::Approx(743.9).epsilon(0.0001));
  CHECK(sizes.routed_experts / sizes.total() == doctest::Approx(0.974).epsilon(0.001));
  CHECK(active_parameters(spec) / 1e9 == doctest::Approx(41.8).epsilon(0.001));
}

TEST_CASE("published parameter counts of other families") {
  // Model cards: 30.5 B and 3.3 B active; 235 B and 22 B; 116.8 B and 5.1 B (embedding not counted
  // as active).
  CHECK(parameters(sample_qwen3_30b()).total() / 1e9 == doctest::Approx(30.5).epsilon(0.002));
  CHECK(active_parameters(sample_qwen3_30b()) / 1e9 == doctest::Approx(3.3).epsilon(0.02));
  CHECK(parameters(sample_qwen3_235b()).total() / 1e9 == doctest::Approx(235).epsilon(0.002));
  CHECK(active_parameters(sample_qwen3_235b()) / 1e9 == doctest::Approx(22).epsilon(0.01));
  const ModelSpec gpt_oss = sample_gpt_oss_120b();
  CHECK(parameters(gpt_oss).total() / 1e9 == doctest::Approx(116.83).epsilon(0.0001));
  const double active = active_parameters(gpt_oss) - parameters(gpt_oss).embedding;
  CHECK(active / 1e9 == doctest::Approx(5.13).epsilon(0.002));
}

TEST_CASE("GLM-5 weights on one of eight GPUs, module by module") {
  ModelSpec spec = sample_glm5();
  const ModuleSizes gpu = weight_bytes(spec, tensor_parallel(8));
  CHECK(gpu.routed_experts / kGiB == doctest::Approx(47.46).epsilon(0.0002));
  CHECK((gpu.attention_sharded + gpu.attention_replicated) / kGiB ==
        doctest::Approx(6.41).epsilon(0.001));
  CHECK(gpu.attention_replicated / kGiB == doctest::Approx(3.70).epsilon(0.002));
  CHECK(gpu.absorbed_kv_b / kGiB == doctest::Approx(0.27).epsilon(0.02));
  CHECK(gpu.shared_experts / kGiB == doctest::Approx(0.66).epsilon(0.005));
  CHECK(gpu.dense_mlp / kGiB == doctest::Approx(0.16).epsilon(0.02));
  CHECK(gpu.router / kGiB == doctest::Approx(0.22).epsilon(0.002));
  CHECK((gpu.embedding + gpu.lm_head) / kGiB == doctest::Approx(0.44).epsilon(0.01));
  CHECK(gpu.total() / kGiB == doctest::Approx(55.6).epsilon(0.0005));

  // The first official release also quantises the shared expert and the dense layers: 0.72 * (2 -
  // 0.5625) / 2.
  spec.weights.shared_experts = DType::nvfp4;
  spec.weights.dense_mlp = DType::nvfp4;
  CHECK(weight_bytes(spec, tensor_parallel(8)).total() / kGiB ==
        doctest::Approx(55.04).epsilon(0.0005));
}

TEST_CASE("items add up to the total") {
  const ModuleSizes sizes = weight_bytes(sample_glm5(), tensor_parallel(4));
  double sum = 0;
  for (const auto& [name, bytes] : sizes.items()) {
    CHECK(bytes >= 0);
    sum += bytes;
  }
  CHECK(sum == sizes.total());
}

TEST_CASE("expert parallelism spreads whole experts, DP attention keeps heads whole") {
  const ModelSpec spec = sample_glm5();
  Parallelism ep = tensor_parallel(8);
  ep.ep = 8;
  CHECK(weight_bytes(spec, ep).routed_experts ==
        weight_bytes(spec, tensor_parallel(8)).routed_experts);
  Parallelism dp = tensor_parallel(8);
  dp.attention_dp = 8;
  CHECK(weight_bytes(spec, dp).attention_sharded ==
        weight_bytes(spec, tensor_parallel(1)).attention_sharded);
  CHECK(weight_bytes(spec, dp).embedding == weight_bytes(spec, tensor_parallel(1)).embedding);
}

TEST_CASE("KV cells of the public logs") {
  const ModelSpec glm5 = sample_glm5();
  CHECK(kv_bytes_per_token(glm5, tensor_parallel(8), DType::fp8) == 55224);
  CHECK(kv_bytes_per_token(glm5, tensor_parallel(8), DType::bf16) == 100152);
  CHECK(kv_bytes_per_token(glm5, tensor_parallel(1), DType::bf16) ==
        100152);  // the latent is replicated
  CHECK(kv_bytes_per_token(glm5, tensor_parallel(8), DType::fp8, KvLayout::ds_mla) == 61464);
  CHECK(kv_bytes_per_token(sample_qwen3_235b(), tensor_parallel(4), DType::bf16) == 48128);
  CHECK(kv_bytes_per_token(sample_minimax_m25(), tensor_parallel(4), DType::bf16) == 63488);
}

TEST_CASE("GQA heads are replicated once tp exceeds them") {
  const ModelSpec qwen = sample_qwen3_30b();  // 4 KV heads
  const std::int64_t one_head = kv_bytes_per_token(qwen, tensor_parallel(4), DType::bf16);
  CHECK(one_head == 128 * 2 * 48 * 2);
  CHECK(kv_bytes_per_token(qwen, tensor_parallel(1), DType::bf16) == 4 * one_head);
  CHECK(kv_bytes_per_token(qwen, tensor_parallel(8), DType::bf16) == one_head);
  Parallelism dp = tensor_parallel(4);
  dp.attention_dp = 4;
  CHECK(kv_bytes_per_token(qwen, dp, DType::bf16) == 4 * one_head);
}

TEST_CASE("four-bit KV is half a byte and a scale per sixteen elements") {
  // MLA: 576/2 + 36 per layer, indexer stays 132; GQA, one head: 256/2 + 16 per layer.
  CHECK(kv_bytes_per_token(sample_glm5(), tensor_parallel(8), DType::nvfp4) ==
        (288 + 36 + 132) * 78);
  CHECK(kv_bytes_per_token(sample_qwen3_30b(), tensor_parallel(4), DType::nvfp4) ==
        (128 + 16) * 48);
}

TEST_CASE("an allocation has a page of padding and whole indexer pages") {
  const ModelSpec spec = sample_glm5();
  const std::int64_t bytes = kv_allocated_bytes(spec, tensor_parallel(8), DType::bf16, 314304, 64);
  CHECK(bytes == std::int64_t{314304 + 64} * 1152 * 78 + std::int64_t{4912} * 64 * 132 * 78);
  CHECK(static_cast<double>(bytes) / kGiB == doctest::Approx(29.322).epsilon(0.00002));
}

TEST_CASE("sliding-window layers get four slots for five of the full layers") {
  const ModelSpec spec = sample_gpt_oss_120b();  // 18 full and 18 window layers
  const WindowPools pools = split_window_pools(spec, 90000, 1);
  CHECK(pools.full == 100000);
  CHECK(pools.window == 80000);
  CHECK(split_window_pools(spec, 90000, 64).full == 99968);
  CHECK(split_window_pools(sample_qwen3_30b(), 90000, 1).full == 90000);
}

TEST_CASE("impossible parallelism is refused") {
  const ModelSpec spec = sample_qwen3_30b();
  Parallelism parallel;
  parallel.tp = 0;
  CHECK_THROWS_AS(weight_bytes(spec, parallel), std::invalid_argument);
  parallel.tp = 4;
  parallel.ep = 3;
  CHECK_THROWS_AS(weight_bytes(spec, parallel), std::invalid_argument);
  parallel.ep = 1;
  parallel.pp = 2;
  CHECK_THROWS_AS(weight_bytes(spec, parallel), std::invalid_argument);
  CHECK_THROWS_AS(kv_bytes_per_token(sample_glm5(), parallel, DType::fp8), std::invalid_argument);
  CHECK_THROWS_AS(kv_allocated_bytes(spec, tensor_parallel(1), DType::bf16, 1, 0),
                  std::invalid_argument);
}
