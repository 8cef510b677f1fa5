// Public samples of logs and results, kept outside the repository: every expected value below was
// read off the sample by hand.
#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

// Nothing where the samples are not at hand.
std::optional<Measurement> sample(const std::string& name) {
  const std::string folder = shared_folder();
  if (folder.empty() || !std::filesystem::exists(folder + "/cases/logs/" + name)) {
    MESSAGE("skipped: sample " << name << " is not at hand");
    return std::nullopt;
  }
  ImportOptions options;
  options.files = {folder + "/cases/logs/" + name};
  return import_files(options);
}

}  // namespace

TEST_CASE("public sample: trailing commas, a small pool, retractions reported per rank") {
  const auto m = sample("sglang-2025-12-trailing-comma.log");
  if (!m) return;
  const auto decode = rows_of(*m, "decode");
  REQUIRE(decode.size() == 3);
  CHECK(decode[0].line == 1);
  CHECK(decode[0].at("running_requests") == 6);
  CHECK(decode[0].at("kv_used_tokens") == 1920);
  CHECK(decode[0].at("kv_usage_share") == 0.94);
  CHECK(decode[0].at("cuda_graph") == 1);
  CHECK(decode[0].at("queue_requests") == 5);
  CHECK(decode[0].at("gen_throughput_tok_per_s") == 446.45);
  CHECK(decode[1].at("gen_throughput_tok_per_s") == 445.85);
  CHECK(decode[2].at("gen_throughput_tok_per_s") == 440.85);
  const auto retraction = rows_of(*m, "retraction");
  REQUIRE(retraction.size() == 2);  // three lines, two events
  CHECK(retraction[0].at("new_token_ratio_before") == 0.1474);
  CHECK(retraction[0].at("new_token_ratio_after") == 0.1845);
  CHECK(retraction[1].at("retracted_requests") == 1);
  CHECK(retraction[1].at("new_token_ratio_before") == 0.098);
  CHECK(retraction[1].at("new_token_ratio_after") == 0.1919);
  CHECK(m->files[0].rows == 5);
  CHECK(warned(*m, "the clock goes back"));
  REQUIRE(m->derived.size() == 1);  // 1920 tokens at 0.94
  CHECK(m->derived[0].value.value() == doctest::Approx(2042.55).epsilon(1e-4));
  CHECK(m->derived[0].low.value() == doctest::Approx(1920 / 0.945));
  CHECK(m->derived[0].high.value() == doctest::Approx(1920 / 0.935));
}

TEST_CASE("public sample: hybrid pool, a lost bracket and wrapped prefill lines") {
  const auto m = sample("sglang-0.5.12-swa-prefill-wrapped.log");
  if (!m) return;
  const auto decode = rows_of(*m, "decode");
  REQUIRE(decode.size() == 3);
  CHECK(decode[0].at("tp_rank") == 0);  // the line without its bracket
  CHECK(decode[0].at("kv_used_tokens") == 2642688);
  CHECK(decode[0].at("kv_usage_share") == 1);
  CHECK(decode[0].at("swa_used_tokens") == 14592);
  CHECK(decode[0].at("swa_usage_share") == 0.06);
  CHECK(decode[2].at("gen_throughput_tok_per_s") == 429.74);
  const auto prefill = rows_of(*m, "prefill");
  REQUIRE(prefill.size() == 3);
  CHECK(prefill[0].line == 4);
  CHECK(prefill[1].line == 6);
  CHECK(prefill[0].at("new_tokens") == 8192);
  CHECK(prefill[0].at("pending_tokens") == 583214);
  CHECK(prefill[0].at("input_throughput_tok_per_s") == 21767.68);
  CHECK(prefill[2].at("input_throughput_tok_per_s") == 20485.54);
  CHECK(prefill[2].at("kv_usage_share") == 0.88);
}

TEST_CASE("public sample: disaggregated prefill and decode, gap_latency") {
  const auto m = sample("sglang-2025-05-pd-prefill-gap-latency.log");
  if (!m) return;
  const auto prefill = rows_of(*m, "prefill");
  REQUIRE(prefill.size() == 3);
  CHECK(prefill[0].at("dp_rank") == 15);
  CHECK(prefill[0].at("gap_latency_s") == 1.112);
  CHECK(prefill[2].at("kv_usage_share") == 0.28);
  CHECK(prefill[2].at("transferring_requests") == 1);
  const auto decode = rows_of(*m, "decode");
  REQUIRE(decode.size() == 2);
  CHECK(decode[1].at("dp_rank") == 30);
  CHECK(decode[1].at("running_requests") == 43);
  CHECK(decode[1].at("gen_throughput_tok_per_s") == 384.89);
  CHECK(warned(*m, "#token is 0"));
}

TEST_CASE("public sample: one line per DP rank with multi-token prediction") {
  const auto m = sample("sglang-2025-10-dp-mtp-decode.log");
  if (!m) return;
  const auto decode = rows_of(*m, "decode");
  REQUIRE(decode.size() == 4);
  CHECK(decode[0].at("dp_rank") == 3);
  CHECK(decode[3].at("dp_rank") == 4);
  CHECK(decode[0].at("accept_len_tokens") == 1.93);
  CHECK(decode[2].at("kv_used_tokens") == 162112);
  double sum = 0;
  for (const auto& row : decode) sum += row.at("gen_throughput_tok_per_s");
  CHECK(sum == doctest::Approx(693.45 + 674.19 + 655.17 + 679.00));
}

TEST_CASE("public sample: SGLang start-up lines of four servers, the last one cut") {
  const auto m = sample("sglang-startup-kv.log");
  if (!m) return;
  std::vector<double> pools;
  for (const Fact& fact : m->facts) {
    if (fact.name == "kv_capacity_tokens") pools.push_back(*fact.number);
  }
  CHECK(pools == std::vector<double>{975424, 367404, 2980168, 2086558, 480406});
  CHECK(fact_of(*m, "kv_cache_gib") == 43.67);
  CHECK(fact_of(*m, "kv_cache_k_gib") == 8.23);
  CHECK(fact_of(*m, "free_memory_before_graphs_gib") == 7.10);
  CHECK(fact_of(*m, "graph_memory_gib") == 0.15);
  CHECK(fact_of(*m, "max_running_requests") == 4096);
  CHECK(fact_text_of(*m, "cuda_graph_bs") == "1, 2, 4, 8, 12, 16, 24, 32");
  CHECK(warned(*m, "two servers in one log"));
  const Fact& last = m->facts.back();
  CHECK(last.line == 7);
  CHECK(last.name == "chunked_prefill_tokens");
  CHECK(*last.number == 8192);
  CHECK(m->files[0].rows == 8);  // line 5 carries two messages
}

TEST_CASE("public sample: vLLM start-up, thousands separators, a hybrid pool") {
  const auto m = sample("vllm-v1-startup-kv.log");
  if (!m) return;
  CHECK(fact_of(*m, "weights_gib") == 53.75);
  CHECK(fact_of(*m, "available_kv_cache_gib") == 23.62);
  CHECK(fact_of(*m, "kv_capacity_tokens") == 399424);
  CHECK(fact_of(*m, "context_len_tokens") == 196608);
  CHECK(fact_of(*m, "max_concurrency_requests") == 2.03);
  CHECK(warned(*m, "a hybrid model"));
  CHECK(m->files[0].rows == 8);
}

TEST_CASE("public sample: vLLM statistics, two messages on one line, missing fields stay missing") {
  const auto m = sample("vllm-v1-engine-stats.log");
  if (!m) return;
  const auto stats = rows_of(*m, "engine_stats");
  REQUIRE(stats.size() == 6);
  CHECK(stats[0].at("prompt_throughput_tok_per_s") == 23998.2);
  CHECK(stats[0].at("gen_throughput_tok_per_s") == 18.1);
  CHECK(stats[0].at("waiting_requests") == 90);
  CHECK(stats[2].line == 3);
  CHECK(stats[3].line == 3);
  CHECK(stats[2].at("kv_usage_pct") == 91.6);
  CHECK(stats[3].at("gen_throughput_tok_per_s") == 240.0);
  CHECK_FALSE(stats[4].has("kv_usage_pct"));
  CHECK(stats[5].at("gen_throughput_tok_per_s") == 2.0);
  CHECK(stats[5].at("prefix_hit_pct") == 78.1);
  const auto spec = rows_of(*m, "spec_decoding");
  REQUIRE(spec.size() == 1);
  CHECK(spec[0].at("accept_len_tokens") == 2.71);
  CHECK(spec[0].at("position_1_accept_share") == 0.984);
  CHECK(spec[0].at("position_2_accept_share") == 0.725);
  CHECK(spec[0].at("draft_accept_pct") == 85.5);
  CHECK(m->files[0].rows == 7);
}

TEST_CASE("public sample: vLLM V0 is mapped and named") {
  const auto m = sample("vllm-v0-metrics-preemption.log");
  if (!m) return;
  CHECK(m->files[0].era == "V0");
  CHECK(warned(*m, "V0 engine"));
  const auto stats = rows_of(*m, "engine_stats");
  REQUIRE(stats.size() == 2);
  CHECK(stats[0].at("gen_throughput_tok_per_s") == 32.5);
  CHECK(stats[1].at("waiting_requests") == 0);
  CHECK(fact_of(*m, "kv_capacity_blocks") == 1952);
  CHECK(fact_of(*m, "available_kv_cache_gib") == 3.81);
  CHECK(rows_of(*m, "preemption").at(0).at("preempted_total_requests") == 1);
  CHECK(m->files[0].rows == 6);
}

TEST_CASE("public sample: bench_serving table") {
  const auto m = sample("sglang-bench-serving-console.txt");
  if (!m) return;
  const auto runs = rows_of(*m, "bench_runs");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].at("total_output_tokens") == 53590);
  CHECK(runs[0].at("total_output_tokens_retokenized") == 53589);
  CHECK(runs[0].at("concurrency_requests") == 7.83);
  CHECK(runs[0].at("max_concurrency_requests") == 8);
  CHECK(runs[0].at("mean_e2e_ms") == 6394.67);
  CHECK(runs[0].at("p99_ttft_ms") == 2660.59);
  CHECK(runs[0].at("max_itl_ms") == 1738.84);
  CHECK(runs[0].words.at("request_rate") == "inf");
  CHECK_FALSE(runs[0].has("mean_tpot_ms"));
}

TEST_CASE("public sample: bench_serving JSON Lines with Infinity") {
  const auto m = sample("sglang-bench-serving.jsonl");
  if (!m) return;
  const auto runs = rows_of(*m, "bench_runs");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].words.at("request_rate") == "Infinity");
  CHECK(runs[0].at("total_output_tokens") == 524288);
  CHECK(runs[0].at("total_output_tokens_retokenized") == 131576);
  CHECK(runs[0].at("output_throughput_tok_per_s") == 2132.2108588790143);
  CHECK(runs[0].at("p95_tpot_ms") == 35.91894802557967);
  CHECK_FALSE(runs[0].has("sharegpt_output_len_tokens"));  // null
  CHECK(m->files[0].engine == "sglang");
}

TEST_CASE("public sample: older benchmark_serving speaks of seconds") {
  const auto m = sample("benchmark-serving-seconds.json");
  if (!m) return;
  const auto runs = rows_of(*m, "bench_runs");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].at("median_ttft_ms") == doctest::Approx(1647.8123511187732).epsilon(1e-12));
  CHECK(runs[0].at("median_tpot_ms") == doctest::Approx(26.04818938109349).epsilon(1e-12));
  CHECK(runs[0].at("p99_e2e_ms") == doctest::Approx(6093.8564384914935).epsilon(1e-12));
  CHECK(runs[0].at("duration_s") == 51.190334897488356);
  CHECK(runs[0].words.at("request_rate") == "inf");
  CHECK_FALSE(runs[0].has("request_goodput_per_s"));
  CHECK(fact_text_of(*m, "model") == "MiniMaxAI/MiniMax-M2.5");
}

TEST_CASE("public sample: decode grid, a counter that calls itself a rate") {
  const auto m = sample("decode-bench-grid.json");
  if (!m) return;
  const auto grid = rows_of(*m, "decode_grid");
  REQUIRE(grid.size() == 3);
  CHECK(grid[0].at("output_throughput_tok_per_s") == 147.2414917810489);
  CHECK(grid[2].at("context_tokens") == 131072);
  CHECK(grid[2].at("concurrency_requests") == 64);
  CHECK(grid[2].at("accepted_tokens_counter") == 491761);
  CHECK_FALSE(grid[2].has("accept_rate_share"));
  CHECK(rows_of(*m, "prefill_grid").size() == 5);
  const auto summary = rows_of(*m, "decode_grid_summary");
  REQUIRE(summary.size() == 13);  // 16 cells, 3 of them repeat results
  CHECK(summary.back().at("output_throughput_tok_per_s") == 645.798918795091);
  CHECK(m->files[0].engine == "vllm");
}

TEST_CASE("public sample: power logs with and without header, units and values") {
  const auto cut = sample("nvidia-smi-monitor-header-units-truncated.csv");
  if (!cut) return;
  auto rows = rows_of(*cut, "gpu_samples");
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].at("power_w") == 412.34);
  CHECK_FALSE(rows[1].has("power_w"));  // [N/A]
  CHECK_FALSE(rows[3].has("power_w"));  // empty
  CHECK(rows[4].at("sm_clock_mhz") == 1980);
  CHECK_FALSE(rows[4].has("memory_clock_mhz"));  // "26" of 2619
  const auto plain = sample("nvidia-smi-units-no-header.csv");
  rows = rows_of(*plain, "gpu_samples");
  REQUIRE(rows.size() == 8);
  CHECK(rows[0].at("power_w") == 241.07);
  CHECK(rows[7].at("gpu") == 7);
  CHECK(rows[7].at("clock_mhz") == 2370);
  const auto sweep = sample("powerlimit-sweep-epoch-no-units.csv");
  rows = rows_of(*sweep, "gpu_samples");
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].at("epoch_s") == 1777241046.437);
  CHECK(rows[0].at("gpu") == 8);
  CHECK(rows[0].at("power_limit_w") == 300);
  CHECK(rows[4].at("power_w") == 300.44);
  CHECK(rows[4].at("memory_clock_mhz") == 12481);
}

TEST_CASE("public sample: nsys kernel sums with empty columns and quoted names") {
  const auto m = sample("nsys-cuda-gpu-kern-sum.csv");
  if (!m) return;
  const auto kernels = rows_of(*m, "kernels");
  REQUIRE(kernels.size() == 8);
  CHECK(kernels[0].at("total_time_ns") == 30738000);
  CHECK(kernels[0].at("avg_ns") == 192110);
  CHECK_FALSE(kernels[0].has("med_ns"));
  CHECK(kernels[1].words.at("name") == "kernel_cutlass_kernel_flashinfer<(int)2, true>");
  CHECK(kernels[6].words.at("class") == "moe_route");
}

TEST_CASE("public tables: an AIConfigurator folder and request traces") {
  const std::string folder = shared_folder();
  if (folder.empty() || !std::filesystem::is_directory(folder + "/data/traces")) {
    MESSAGE("skipped: the shared data are not at hand");
    return;
  }
  ImportOptions options;
  options.files = {folder + "/data/kernels/rtx_pro_6000_server/sglang-0.5.14"};
  const Measurement tables = import_files(options);
  REQUIRE(tables.find("table_moe") != nullptr);
  CHECK(tables.find("table_moe")->rows() == 117840);   // manifest.csv
  CHECK(tables.find("table_gemm")->rows() == 101010);  // manifest.csv
  CHECK(tables.files[0].engine == "sglang");
  CHECK(tables.files[0].era == "0.5.14");
  const auto import_trace = [&](const std::string& name) {
    ImportOptions one;
    one.files = {folder + "/data/traces/" + name};
    return import_files(one);
  };
  const Measurement azure = import_trace("azure_llm_2023_conv.csv.gz");
  CHECK(azure.find("requests")->rows() == 19366);
  CHECK(*azure.files[0].last_s == doctest::Approx(3502).epsilon(1e-3));
  CHECK(import_trace("mooncake_fast25_conversation.csv.gz").find("requests")->rows() == 12031);
  const Measurement measured = import_trace("measured_rtxpro6000_llama31_8b_tp1_requests.csv.gz");
  CHECK(measured.files[0].kind == "request_log");
  CHECK(rows_of(measured, "requests").at(0).at("first_token_ms") == 169.5);
}
