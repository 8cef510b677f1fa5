// K1 to K9 and V1 to V5 are public logs and worked examples of how SGLang and vLLM size their
// pools.
#include "models/kv_pool.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "tests/support/sample_models.h"

using namespace plateau;

namespace {

constexpr double kRtxPro6000Mib = 97887;

// The logged server: 8 RTX PRO 6000, fraction 0.92, 93.89 GiB free before and 57.06 GiB of weights.
SglangPoolInput rtx_server(DType kv_dtype) {
  SglangPoolInput input;
  input.options.memory_mib = kRtxPro6000Mib;
  input.parallel = tensor_parallel(8);
  input.kv_dtype = kv_dtype;
  input.mem_fraction_static = 0.92;
  input.free_gib = 93.89;
  input.weights_gib = 57.06;
  return input;
}

DeviceSpec device(int compute_capability_major) {
  DeviceSpec spec;
  spec.compute_capability_major = compute_capability_major;
  return spec;
}

ModelSpec sample_kimi() {  // MLA without indexer, 61 layers
  ModelSpec spec = sample_glm5();
  spec.layers = 61;
  spec.attention.kind = AttentionKind::mla;
  return spec;
}

}  // namespace

TEST_CASE("K1: GLM-5 with bf16 KV at fraction 0.92 gets 314,304 tokens in 29.32 GiB") {
  SglangPoolInput input = rtx_server(DType::bf16);
  input.free_gib = 93.99;
  input.weights_gib = 93.99 - 36.84;  // 36.84 GiB free after weights on the tightest rank
  const KvPool pool = sglang_kv_pool(sample_glm5(), input);
  CHECK(pool.cell_bytes == 100152);
  CHECK(pool.page_tokens == 64);
  CHECK(pool.tokens == 314304);
  CHECK(pool.allocated_gib == doctest::Approx(29.322).epsilon(0.00002));
  CHECK(pool.bound == PoolBound::memory);
  CHECK_FALSE(pool.misfit.has_value());
  CHECK_FALSE(pool.unexplained_gib.has_value());
  input.weights_gib = 93.99 - 36.93;  // the rank that printed the log
  CHECK(sglang_kv_pool(sample_glm5(), input).tokens == 315264);
}

TEST_CASE("K2: 464,768 tokens of GLM-5 with fp8 KV take 23.907 GiB") {
  SglangPoolInput input = rtx_server(DType::fp8);
  input.given_tokens = 464768;
  const KvPool pool = sglang_kv_pool(sample_glm5(), input);
  CHECK(pool.cell_bytes == 55224);
  CHECK(pool.tokens == 464768);
  CHECK(pool.allocated_gib == doctest::Approx(23.907).epsilon(0.00002));
  CHECK(pool.bound == PoolBound::given);
}

TEST_CASE("K3: 495,488 tokens are 7,742 pages and 25.484 GiB in fp8, 46.2 in bf16") {
  CHECK(495488 == 7742 * 64);
  const double fp8 = 495488.0 * 55224 / kGiB;
  CHECK(fp8 == doctest::Approx(25.484).epsilon(0.00002));
  SglangPoolInput input = rtx_server(DType::fp8);
  input.given_tokens = 495488;
  CHECK(sglang_kv_pool(sample_glm5(), input).allocated_gib ==
        doctest::Approx(25.49).epsilon(0.0002));
  input.kv_dtype = DType::bf16;
  CHECK(sglang_kv_pool(sample_glm5(), input).allocated_gib ==
        doctest::Approx(46.2).epsilon(0.0005));
}

TEST_CASE("K4: the rule cannot account for 3.84 GiB of the logged 495,488 tokens") {
  SglangPoolInput input = rtx_server(DType::fp8);
  const KvPool derived = sglang_kv_pool(sample_glm5(), input);
  CHECK(static_cast<double>(derived.tokens) == doctest::Approx(570000).epsilon(0.0005));
  CHECK(derived.budget_gib == doctest::Approx(29.32).epsilon(0.0002));
  input.given_tokens = 495488;
  const KvPool given = sglang_kv_pool(sample_glm5(), input);
  CHECK(given.tokens == 495488);
  CHECK(given.derived_tokens == derived.tokens);
  CHECK(given.unexplained_gib.value() == doctest::Approx(3.84).epsilon(0.003));
  // Read backwards: fraction 0.88 comes within 0.4 % of it.
  input.given_tokens.reset();
  input.mem_fraction_static = 0.88;
  CHECK(static_cast<double>(sglang_kv_pool(sample_glm5(), input).tokens) ==
        doctest::Approx(495488).epsilon(0.004));
}

TEST_CASE("unexplained memory is taken off what the rule leaves: 3.79 GiB make 496,320 tokens") {
  // 93.89 - 57.06 - 93.89 * 0.08 - 3.79 = 25.5288 GiB, / 55,224 B = 496,366, 7,755 pages of 64.
  SglangPoolInput input = rtx_server(DType::fp8);
  input.unexplained_gib = 3.79;
  const KvPool pool = sglang_kv_pool(sample_glm5(), input);
  CHECK(pool.budget_gib == doctest::Approx(25.5288).epsilon(1e-9));
  CHECK(pool.tokens == 496320);
  CHECK(pool.told_unexplained_gib == 3.79);
  // What K4 cannot account for, told to the rule, gives the logged pool.
  SglangPoolInput k4 = rtx_server(DType::fp8);
  k4.given_tokens = 495488;
  k4.unexplained_gib = *sglang_kv_pool(sample_glm5(), k4).unexplained_gib;
  CHECK(*sglang_kv_pool(sample_glm5(), k4).unexplained_gib < 65 * 55224 / kGiB);
  k4.given_tokens.reset();
  CHECK(std::abs(sglang_kv_pool(sample_glm5(), k4).tokens - 495488) <= 64);
  // It counts towards what does not fit, and not where the KV memory itself is logged.
  input.unexplained_gib = 30;
  CHECK(sglang_kv_pool(sample_glm5(), input).misfit->minimum_fraction ==
        doctest::Approx((57.06 + 30) / 93.89));
  input.kv_gib = 25.49;
  CHECK(sglang_kv_pool(sample_glm5(), input).tokens == 495552);
  CHECK(sglang_kv_pool(sample_glm5(), input).told_unexplained_gib == 0);
}

TEST_CASE("vLLM's rule loses unexplained memory too: 2 GiB leave 11.685 GiB, 16,293 blocks") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(4);
  input.memory_gib = 79.65;
  input.weights_gib = 56;
  input.activation_gib = 1;
  input.non_torch_gib = 1;
  input.unexplained_gib = 2;
  const KvPool pool = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(pool.budget_gib == doctest::Approx(79.65 * 0.9 - 60));
  CHECK(pool.tokens == 260688);
  input.kv_gib = 8.11;
  CHECK(vllm_kv_pool(sample_qwen3_235b(), input).tokens == 180928);
}

TEST_CASE("K5: Qwen3-235B at tp 4 with pages of one token holds 8.234 GiB of keys and of values") {
  SglangPoolInput input;
  input.parallel = tensor_parallel(4);
  input.given_tokens = 367404;
  const KvPool pool = sglang_kv_pool(sample_qwen3_235b(), input);
  CHECK(pool.cell_bytes == 48128);
  CHECK(pool.page_tokens == 1);
  CHECK(pool.allocated_gib == doctest::Approx(2 * 8.234).epsilon(0.00005));
  CHECK_FALSE(pool.derived_tokens.has_value());  // nothing is known of the board
}

TEST_CASE("K6: weights that leave less than the reserve are a misfit with its fraction") {
  SglangPoolInput input;
  input.options.memory_mib = 143771;
  input.parallel = tensor_parallel(8);
  input.mem_fraction_static = 0.88;
  input.free_gib = 137.90;
  input.weights_gib = 125.65;
  const KvPool pool = sglang_kv_pool(sample_kimi(), input);
  CHECK(pool.tokens == 0);
  REQUIRE(pool.misfit.has_value());
  CHECK(pool.misfit->minimum_fraction == doctest::Approx(1 - 12.25 / 137.90));
  CHECK(pool.misfit->minimum_fraction == doctest::Approx(0.9112).epsilon(0.0001));
  CHECK(pool.misfit->missing_gib == doctest::Approx(125.65 - 0.88 * 137.90).epsilon(0.0001));
  CHECK(pool.misfit->fits_at_tp == 16);
}

TEST_CASE("K7: a pool of 2,086,558 tokens with pages of one is taken as given") {
  SglangPoolInput input;
  input.given_tokens = 2086558;
  CHECK(sglang_kv_pool(sample_qwen3_30b(), input).tokens == 2086558);
  CHECK(max_request_tokens(256000, 2086558) == 255999);
}

TEST_CASE("K9: the request table of 495,488 tokens and 202,752 context is 2,048 rows") {
  CHECK(request_table_size(0, 495488, 202752) == 2048);
  CHECK(request_table_size(0, 3000000, 512 * 1000) == 3000);
  CHECK(request_table_size(0, 3000000, 4096) == 4096);
  CHECK(request_table_size(77, 495488, 202752) == 77);
  CHECK(static_cast<double>(request_table_bytes(2048, 202752)) / kGiB ==
        doctest::Approx(1.55).epsilon(0.003));
}

TEST_CASE("running requests: user value, table and pool") {
  CHECK(effective_max_running(SglangEra::a, 0, 1, 495488, 2048) == 2048);
  CHECK(effective_max_running(SglangEra::a, 0, 1, 1000, 2048) == 500);
  CHECK(effective_max_running(SglangEra::a, 4096, 8, 495488, 4096) == 512);
  CHECK(effective_max_running(SglangEra::a, 1000, 1, 1000, 1000) == 1000);
  CHECK(effective_max_running(SglangEra::b, 1000, 1, 1000, 1000) == 500);
  CHECK(effective_max_running(SglangEra::a, 0, 1, 495488, 2048, Speculation::eagle) == 48);
}

TEST_CASE("reserved memory and default fraction of five boards") {
  struct Row {
    double mib;
    int tp;
    double reserved;
    double fraction;
  };
  for (const Row& row : {Row{kRtxPro6000Mib, 8, 14848, 0.848}, Row{81559, 8, 14848, 0.818},
                         Row{81559, 1, 13440, 0.835}, Row{143771, 8, 14848, 0.897},
                         Row{183359, 8, 27136, 0.852}, Row{24564, 1, 3760, 0.847}}) {
    SglangMemoryOptions options;
    options.memory_mib = row.mib;
    CHECK(sglang_reserved_mib(options, tensor_parallel(row.tp)) == row.reserved);
    CHECK(default_mem_fraction_static(options, tensor_parallel(row.tp)) == row.fraction);
  }
  CHECK(default_mem_fraction_static(SglangMemoryOptions{}, tensor_parallel(1)) == 0.88);
}

TEST_CASE("what changes the reserved memory") {
  SglangMemoryOptions options;
  options.memory_mib = kRtxPro6000Mib;
  const Parallelism tp8 = tensor_parallel(8);
  const double base = sglang_reserved_mib(options, tp8);
  const auto more = [&](auto change) {
    SglangMemoryOptions changed = options;
    change(changed);
    return sglang_reserved_mib(changed, tp8) - base;
  };
  CHECK(more([](auto& o) { o.chunked_prefill_size = -1; }) ==
        8192 * 1.5);  // max_prefill_tokens 16384
  CHECK(more([](auto& o) { o.chunked_prefill_size = 1024; }) ==
        10240 - base);  // large boards keep 10 GiB
  CHECK(more([](auto& o) { o.prefill_graph_sizes = 50; }) == 400);
  CHECK(more([](auto& o) { o.speculation = Speculation::eagle; }) == 2048);
  CHECK(more([](auto& o) { o.speculation = Speculation::standalone; }) == 6144);
  CHECK(more([](auto& o) { o.disable_cuda_graph = true; }) == 0);  // era a counts them all the same
  CHECK(more([](auto& o) {
          o.disable_cuda_graph = true;
          o.era = SglangEra::b;
        }) == -1024);
  Parallelism dp = tp8;
  dp.attention_dp = 8;
  CHECK(sglang_reserved_mib(options, dp) - base == (3 + 1.5) * 512 * 8);
}

TEST_CASE("page size and KV type follow model and board") {
  CHECK(default_page_size(sample_glm5()) == 64);
  CHECK(default_page_size(sample_qwen3_30b()) == 1);
  CHECK(default_page_size(sample_kimi(), "cutlass_mla") == 128);
  CHECK(default_page_size(sample_kimi(), "flashmla") == 64);
  CHECK(auto_kv_dtype(sample_glm5(), device(12)) == DType::fp8);
  CHECK(auto_kv_dtype(sample_glm5(), device(9)) == DType::bf16);
  ModelSpec qwen = sample_qwen3_30b();
  CHECK(auto_kv_dtype(qwen, device(10)) == DType::bf16);
  qwen.kv_dtype = DType::fp8;
  CHECK(auto_kv_dtype(qwen, device(9)) == DType::fp8);
  CHECK(kv_dtype_of("auto", qwen, device(9)) == DType::fp8);
  CHECK(kv_dtype_of("fp4_e2m1", qwen, device(9)) == DType::nvfp4);
  CHECK_FALSE(kv_dtype_of("fp9", qwen, device(9)).has_value());
}

TEST_CASE("a user's token limit cuts the pool to a page") {
  SglangPoolInput input = rtx_server(DType::fp8);
  input.max_total_tokens = 100000;
  KvPool pool = sglang_kv_pool(sample_glm5(), input);
  CHECK(pool.tokens == 99968);
  CHECK(pool.bound == PoolBound::max_total_tokens);
  input.max_total_tokens = 100000000;  // above what fits: ignored
  pool = sglang_kv_pool(sample_glm5(), input);
  CHECK(pool.bound == PoolBound::memory);
}

TEST_CASE("a sliding-window model has two pools out of the same bytes") {
  SglangPoolInput input;
  input.options.memory_mib = 81559;
  const ModelSpec spec = sample_gpt_oss_120b();
  const KvPool split = sglang_kv_pool(spec, input);
  input.window_pools = false;
  const KvPool whole = sglang_kv_pool(spec, input);
  CHECK(whole.tokens > 0);
  CHECK(whole.window_tokens == 0);
  CHECK(split.tokens ==
        static_cast<std::int64_t>(static_cast<double>(whole.tokens) * 36 / (18 + 0.8 * 18)));
  CHECK(static_cast<double>(split.window_tokens) ==
        doctest::Approx(0.8 * static_cast<double>(split.tokens)));
  CHECK(split.allocated_gib == doctest::Approx(whole.allocated_gib).epsilon(0.001));
}

TEST_CASE("weights from the spec that do not fit say at which tp they would") {
  SglangPoolInput input;
  input.options.memory_mib = kRtxPro6000Mib;
  input.parallel = tensor_parallel(2);
  input.kv_dtype = DType::fp8;
  const KvPool pool = sglang_kv_pool(sample_glm5(), input);
  REQUIRE(pool.misfit.has_value());
  CHECK(pool.misfit->fits_at_tp == 8);
  CHECK(pool.misfit->minimum_fraction > 1);
  const double weights = weight_bytes(sample_glm5(), input.parallel).total() / kGiB;
  CHECK(pool.misfit->missing_gib ==
        doctest::Approx(weights + 64 * 55224 / kGiB - pool.fraction * pool.free_gib));
}

TEST_CASE("nothing known of the board is an error, not a guess") {
  CHECK_THROWS_AS(sglang_kv_pool(sample_qwen3_30b(), SglangPoolInput{}), std::invalid_argument);
  CHECK_THROWS_AS(vllm_kv_pool(sample_qwen3_30b(), VllmPoolInput{}), std::invalid_argument);
}

TEST_CASE("V1: MiniMax-M2.5 at tp 4 has 24,964 blocks in 23.62 GiB, 2.03 requests of 196,608") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(4);
  input.kv_gib = 23.62 - 0.005;  // printed with two decimals
  const std::int64_t least = vllm_kv_pool(sample_minimax_m25(), input).tokens;
  input.kv_gib = 23.62 + 0.005;
  CHECK(least <= 399424);
  CHECK(vllm_kv_pool(sample_minimax_m25(), input).tokens >= 399424);
  input.kv_gib = 399424.0 * 63488 / kGiB;
  const KvPool pool = vllm_kv_pool(sample_minimax_m25(), input);
  CHECK(pool.cell_bytes == 63488);
  CHECK(pool.page_tokens == 16);
  CHECK(pool.tokens == 24964 * 16);
  CHECK(pool.allocated_gib == doctest::Approx(23.617).epsilon(0.00002));
  CHECK(vllm_max_concurrency(pool, 196608) == doctest::Approx(2.0316).epsilon(0.00003));
}

TEST_CASE(
    "V2: 8.11 GiB of Qwen3-235B at tp 4 would be 180,928 tokens; the 178,880 logged are 8.018") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(4);
  input.kv_gib = 8.11;
  const KvPool pool = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(pool.tokens == 180928);
  input.given_tokens = 178880;
  const KvPool given = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(given.tokens == 178880);
  CHECK(given.allocated_gib == doctest::Approx(8.018).epsilon(0.00005));
  CHECK(given.unexplained_gib.value() == doctest::Approx(8.11 - 8.018).epsilon(0.01));
}

TEST_CASE(
    "V3: GLM-5.1 with its MTP layer in the 656-byte layout holds 329,792 tokens in 19.12 GiB") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(8);
  input.kv_dtype = DType::fp8;
  input.layout = KvLayout::ds_mla;
  input.draft_layers = 1;
  input.given_tokens = 329792;
  const KvPool pool = vllm_kv_pool(sample_glm5(), input);
  CHECK(pool.cell_bytes == 62252);
  CHECK(pool.page_tokens == 64);
  CHECK(pool.allocated_gib == doctest::Approx(19.120).epsilon(0.00003));
  CHECK(vllm_max_concurrency(pool, 65536) == doctest::Approx(5.032).epsilon(0.0001));
}

TEST_CASE("V4: eight context-parallel ranks hold 6.95 requests of 262,144 tokens") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(8);
  input.kv_dtype = DType::fp8;
  input.context_parallel = 8;
  input.given_tokens = 1822464;
  const KvPool pool = vllm_kv_pool(sample_kimi(), input);
  CHECK(vllm_max_concurrency(pool, 262144) == doctest::Approx(6.952).epsilon(0.0001));
  CHECK(pool.allocated_gib == doctest::Approx(1822464.0 / 8 * 576 * 61 / kGiB));
}

TEST_CASE("V5: 495,488 tokens in blocks of 16 admit 1,935 requests of 256 tokens") {
  VllmPoolInput input;
  input.given_tokens = 495488;
  input.block_tokens = 16;
  const KvPool pool = vllm_kv_pool(sample_glm5(), input);
  CHECK(pool.tokens / pool.page_tokens == 30968);
  CHECK(vllm_usable_blocks(pool) == 30967);
  CHECK(vllm_usable_blocks(pool) / (256 / 16) == 1935);
}

TEST_CASE("vLLM's rule takes a share of the whole board and, later, the graphs too") {
  VllmPoolInput input;
  input.parallel = tensor_parallel(4);
  input.memory_gib = 79.65;
  input.weights_gib = 56;
  input.activation_gib = 1;
  input.non_torch_gib = 1;
  input.graphs_gib = 1;
  const KvPool early = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(early.fraction == 0.9);
  CHECK(early.budget_gib == doctest::Approx(79.65 * 0.9 - 58));
  CHECK(static_cast<double>(early.tokens) ==
        doctest::Approx(early.budget_gib * kGiB / 48128).epsilon(0.0002));
  input.era = VllmEra::aug_2026;
  const KvPool late = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(late.budget_gib == doctest::Approx(79.65 * 0.92 - 59));
  input.weights_gib = 90;
  const KvPool none = vllm_kv_pool(sample_qwen3_235b(), input);
  CHECK(none.tokens == 0);
  REQUIRE(none.misfit.has_value());
  CHECK(none.misfit->minimum_fraction == doctest::Approx(93 / 79.65));
  CHECK(none.misfit->fits_at_tp == 8);
}

TEST_CASE("vLLM batch limits by board and version") {
  CHECK(vllm_max_batched_tokens(VllmEra::feb_2026, 178) == 8192);
  CHECK(vllm_max_batched_tokens(VllmEra::aug_2026, 178) == 16384);
  CHECK(vllm_max_batched_tokens(VllmEra::feb_2026, 79.6, true) == 2048);
  CHECK(vllm_max_batched_tokens(VllmEra::feb_2026, 23.6, false, true) == 8192);
  CHECK(vllm_max_num_seqs(139.8) == 1024);
  CHECK(vllm_max_num_seqs(23.6) == 256);
  CHECK(vllm_graph_max(VllmEra::aug_2026, 1024, 16384, 10) == 1024);
  CHECK(vllm_graph_max(VllmEra::feb_2026, 1024, 16384, 10) == 512);
  CHECK(vllm_graph_max(VllmEra::feb_2026, 128, 8192, 9) == 256);
}
