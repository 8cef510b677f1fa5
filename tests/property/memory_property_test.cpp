#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "models/cuda_graphs.h"
#include "models/kv_pool.h"
#include "tests/support/sample_models.h"

using namespace plateau;

namespace {

DType any_weight_type() {
  return *rc::gen::element(DType::bf16, DType::fp8, DType::fp8_block, DType::nvfp4, DType::mxfp4,
                           DType::int4);
}

int any_in(int low, int high) { return *rc::gen::inRange(low, high + 1); }

void give_latent_attention(ModelSpec& spec) {
  AttentionSpec& a = spec.attention;
  a.q_lora_rank = 512 * any_in(0, 4);
  a.kv_lora_rank = 512;
  a.qk_nope_head_dim = 128;
  a.qk_rope_head_dim = 64;
  if (a.kind != AttentionKind::mla_dsa) return;
  a.index_heads = any_in(1, 64);
  a.index_head_dim = 128;
  a.indexer_layers = any_in(1, spec.layers);
}

// A lawful model of any shape: GQA, MLA or MLA with indexer, dense layers, shared experts, windows
// or none.
ModelSpec any_model() {
  ModelSpec spec = sample_gqa(any_in(1, 100), 64 * any_in(1, 128), 1 << any_in(0, 7), 1,
                              any_in(1, 512), 1, 16 * any_in(1, 256), any_in(1000, 200000));
  spec.dense_layers = any_in(0, spec.layers);
  spec.dense_intermediate = 64 * any_in(1, 256);
  spec.top_k = any_in(1, spec.experts);
  spec.shared_experts = any_in(0, 2);
  spec.shared_intermediate = spec.shared_experts * spec.moe_intermediate;
  spec.tied_embeddings = any_in(0, 1) == 1;
  spec.attention_bias = any_in(0, 1) == 1;
  spec.expert_bias = any_in(0, 1) == 1;
  spec.weights.routed_experts = any_weight_type();
  spec.weights.attention = any_weight_type();
  AttentionSpec& a = spec.attention;
  a.kind = *rc::gen::element(AttentionKind::gqa, AttentionKind::mla, AttentionKind::mla_dsa);
  if (a.kind != AttentionKind::gqa) {
    give_latent_attention(spec);
    return spec;
  }
  a.kv_heads = std::min(1 << any_in(0, 7), a.query_heads);
  a.window_layers = any_in(0, spec.layers);
  a.window_tokens = a.window_layers > 0 ? 128 : 0;
  return spec;
}

}  // namespace

TEST_CASE("more tensor parallelism never raises weights or KV per GPU") {
  CHECK(rc::check([] {
    const ModelSpec spec = any_model();
    const DType kv = *rc::gen::element(DType::bf16, DType::fp8, DType::nvfp4);
    for (int tp = 1; tp < 64; tp *= 2) {
      const auto few = weight_bytes(spec, tensor_parallel(tp)).items();
      const auto many = weight_bytes(spec, tensor_parallel(2 * tp)).items();
      for (std::size_t i = 0; i < few.size(); ++i) RC_ASSERT(many[i].second <= few[i].second);
      RC_ASSERT(kv_bytes_per_token(spec, tensor_parallel(2 * tp), kv) <=
                kv_bytes_per_token(spec, tensor_parallel(tp), kv));
    }
  }));
}

TEST_CASE("one GPU holds every parameter, all ranks together at least that") {
  CHECK(rc::check([] {
    ModelSpec spec = any_model();
    spec.weights = WeightTypes{};
    const double all = 2 * parameters(spec).total();
    const ModuleSizes one = weight_bytes(spec, Parallelism{});
    RC_ASSERT(one.total() - one.absorbed_kv_b >= all * (1 - 1e-12));
    RC_ASSERT(one.total() - one.absorbed_kv_b <= all * (1 + 1e-12));
    const int tp = 1 << any_in(0, 5);
    const ModuleSizes each = weight_bytes(spec, tensor_parallel(tp));
    RC_ASSERT((each.total() - each.absorbed_kv_b) * tp >= all * (1 - 1e-12));
    RC_ASSERT(active_parameters(spec) * 2 <= all * (1 + 1e-12));
    RC_ASSERT(active_parameters(spec) > 0);
  }));
}

TEST_CASE("a KV cell is positive and narrower types never make it wider") {
  CHECK(rc::check([] {
    const ModelSpec spec = any_model();
    const Parallelism parallel = tensor_parallel(1 << any_in(0, 6));
    const std::int64_t bf16 = kv_bytes_per_token(spec, parallel, DType::bf16);
    const std::int64_t fp8 = kv_bytes_per_token(spec, parallel, DType::fp8);
    const std::int64_t fp4 = kv_bytes_per_token(spec, parallel, DType::nvfp4);
    RC_ASSERT(fp4 > 0);
    RC_ASSERT(fp4 <= fp8);
    RC_ASSERT(fp8 <= bf16);
  }));
}

TEST_CASE("a pool is whole pages within its budget and grows with the fraction") {
  CHECK(rc::check([] {
    const ModelSpec spec = any_model();
    SglangPoolInput input;
    input.parallel = tensor_parallel(1 << any_in(0, 3));
    input.free_gib = any_in(10, 200);
    input.weights_gib = any_in(1, 150);
    input.page_tokens = *rc::gen::element(1, 16, 64, 128);
    input.window_pools = false;
    input.mem_fraction_static = any_in(50, 94) / 100.0;
    const KvPool pool = sglang_kv_pool(spec, input);
    RC_ASSERT(pool.tokens % pool.page_tokens == 0);
    RC_ASSERT(pool.tokens == 0 ||
              static_cast<double>(pool.tokens * pool.cell_bytes) <= pool.budget_gib * kGiB);
    RC_ASSERT(pool.misfit.has_value() == (pool.tokens == 0));
    input.mem_fraction_static += 0.03;
    RC_ASSERT(sglang_kv_pool(spec, input).tokens >= pool.tokens);
  }));
}

TEST_CASE("the tp at which weights are said to fit is the smallest that does") {
  CHECK(rc::check([] {
    const ModelSpec spec = any_model();
    SglangPoolInput input;
    input.free_gib = any_in(1, 64);
    input.mem_fraction_static = 0.9;
    const KvPool pool = sglang_kv_pool(spec, input);
    if (!pool.misfit) return;
    RC_ASSERT(pool.misfit->missing_gib > 0);
    const int fits = pool.misfit->fits_at_tp;
    RC_TAG(fits > 0 ? "fits at a larger tp" : "fits nowhere");
    if (fits == 0) return;
    input.parallel.tp = fits / 2;
    RC_ASSERT(sglang_kv_pool(spec, input).misfit.has_value());
    input.parallel.tp = fits;
    RC_ASSERT(!sglang_kv_pool(spec, input).misfit.has_value());
  }));
}

TEST_CASE("a batch runs in the smallest captured graph that holds it") {
  CHECK(rc::check([] {
    SglangGraphOptions options;
    options.max_bs = any_in(1, 1200);
    options.era = *rc::gen::element(SglangEra::a, SglangEra::b);
    options.padding = *rc::gen::arbitrary<bool>();
    options.speculative = *rc::gen::arbitrary<bool>();
    const CudaGraphs graphs(sglang_graph_sizes(options));
    RC_ASSERT(std::is_sorted(graphs.sizes().begin(), graphs.sizes().end()));
    RC_ASSERT(graphs.largest() <= options.max_bs);
    const int batch = any_in(1, 1300);
    const auto padded = graphs.padded_batch(batch);
    RC_ASSERT(padded.has_value() == (batch <= graphs.largest()));
    if (!padded) return;
    RC_ASSERT(*padded >= batch);
    for (const int size : graphs.sizes()) RC_ASSERT(size < batch || size >= *padded);
  }));
}
