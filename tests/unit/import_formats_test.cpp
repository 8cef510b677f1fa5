// One sample of each format, written for these tests with neutral values.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "calibration/import/kernel_class.h"
#include "calibration/import/write_measurement.h"
#include "tests/support/import_support.h"

using namespace plateau::imports;

TEST_CASE("of several ranks' free memory the fullest GPU's is the fact, start-up by start-up") {
  const auto begin = [](const char* rank, const char* free) {
    return std::string("[2026-02-20 10:00:10 ") + rank + "] Load weight begin. avail mem=" + free +
           " GB\n";
  };
  const std::string first = begin("TP0", "93.89") + begin("TP3", "93.50") + begin("TP1", "93.80");
  const std::string second = begin("TP0", "80.00") + begin("TP3", "79.00");
  const char* name = "free_memory_before_weights_gib";
  CHECK(fact_of(import_text(first), name) == 93.5);
  CHECK(fact_of(import_text(first + second), name) == 93.5);
  CHECK(fact_of(import_text(begin("TP2", "93.89")), name) == 93.89);
  CHECK(import_text(first).facts.size() == 3);  // every statement is kept with its line
}

TEST_CASE("a pool is derived for each log that states none, whatever another file says") {
  const std::string decode =
      "[2026-01-02 03:00:00 TP0] Decode batch, #running-req: 6, #token: 1920, token usage: 0.94, "
      "cuda graph: True, gen throughput (token/s): 446.45, #queue-req: 5\n";
  const std::string stated =
      "[2026-02-20 10:04:20 TP0] max_total_num_tokens=495488, "
      "chunked_prefill_size=8192, context_len=202752\n";
  Measurement measurement;
  for (const std::string& text : {stated, decode})
    import_source([&] { return ByteSource::memory(text, "t.log"); }, {}, measurement);
  REQUIRE(measurement.derived.size() == 1);
  CHECK(measurement.derived[0].file == 1);
}

TEST_CASE("SGLang up to 0.4.6: full stops, no graph field, start-up facts") {
  const Measurement m = import_own("sglang-0.4.6.log");
  CHECK(m.files[0].kind == "sglang_log");
  CHECK(m.files[0].engine == "sglang");
  CHECK(m.files[0].era == "0.4.6 or older (before 2025-05-12)");
  CHECK(m.files[0].rows == 12);
  CHECK(fact_text_of(m, "model") == "example/moe-small");
  CHECK(fact_of(m, "server_args.tp_size") == 2);
  CHECK(fact_text_of(m, "server_args.disable_radix_cache") == "True");
  CHECK(m.fact("server_args.max_running_requests") == nullptr);  // None
  CHECK(fact_of(m, "weights_gib") == 30.25);
  CHECK(fact_of(m, "free_memory_after_weights_gib") == 48.25);
  CHECK(fact_of(m, "kv_capacity_tokens") == 120000);
  CHECK(fact_of(m, "kv_cache_v_gib") == 16);
  CHECK(fact_of(m, "graph_capture_s") == 20.1);
  CHECK(fact_of(m, "context_len_tokens") == 32768);
  const auto decode = rows_of(m, "decode");
  REQUIRE(decode.size() == 2);
  CHECK(decode[0].at("gen_throughput_tok_per_s") == 41.5);
  CHECK(decode[1].at("kv_usage_share") == 0.01);
  CHECK_FALSE(decode[0].has("cuda_graph"));
  CHECK(rows_of(m, "prefill").at(0).at("queue_requests") == 0);
}

TEST_CASE("SGLang 0.5.5 with DP attention: a rank is a scheduler of its own") {
  const Measurement m = import_own("sglang-0.5.5-dp.log");
  CHECK(m.files[0].era == "0.5.4 to 0.5.8 (2025-10 to 2026-01)");
  CHECK(m.files[0].warnings.empty());  // pools of ranks differ by a page
  const auto decode = rows_of(m, "decode");
  REQUIRE(decode.size() == 5);
  CHECK(decode[1].at("dp_rank") == 1);
  CHECK(decode[1].at("accept_len_tokens") == 2.4);
  CHECK(decode[3].at("cuda_graph") == 0);
  const auto retraction = rows_of(m, "retraction");
  REQUIRE(retraction.size() == 1);
  CHECK(retraction[0].at("retracted_requests") == 2);
  CHECK(retraction[0].at("gained_tokens") == 2048);
  CHECK(retraction[0].at("new_token_ratio_after") == 0.315);
}

TEST_CASE("SGLang 2026-05: forward counter, estimates, pending tokens, a wrapped number") {
  const Measurement m = import_own("sglang-2026-05.log");
  CHECK(m.files[0].era == "2026-05 or newer");
  CHECK(fact_of(m, "kv_capacity_tokens") == 495488);
  CHECK(fact_of(m, "max_running_requests") == 2048);
  CHECK(fact_of(m, "weights_gib") == 57.25);
  CHECK(fact_text_of(m, "kv_cache_dtype") == "torch.float8_e4m3fn");
  CHECK(fact_text_of(m, "cuda_graph_bs") == "1, 2, 4, 8");
  const auto decode = rows_of(m, "decode");
  REQUIRE(decode.size() == 3);
  CHECK(decode[0].at("forward_pass") == 40);
  CHECK(decode[0].at("est_read_gb_per_s_per_gpu") == 900);
  CHECK(decode[1].at("forward_occupancy") == 0.95);
  CHECK(decode[2].line == 11);
  CHECK(decode[2].at("gen_throughput_tok_per_s") == 600);
  CHECK(decode[2].at("queue_requests") == 4);
  const auto prefill = rows_of(m, "prefill");
  CHECK(prefill.at(0).at("pending_tokens") == 4096);
  CHECK(prefill.at(0).at("input_throughput_tok_per_s") == 20000.5);
  CHECK(prefill.at(0).at("cuda_graph") == 0);
}

TEST_CASE("SGLang: of several TP ranks the lowest counts, the others are kept apart") {
  const Measurement m = import_own("sglang-tp-ranks.log");
  const auto decode = rows_of(m, "decode");
  REQUIRE(decode.size() == 2);
  CHECK(decode[0].at("tp_rank") == 0);
  CHECK(decode[0].line == 2);
  CHECK(rows_of(m, "decode_other_ranks").size() == 2);
  CHECK(m.files[0].rows == 2);
  CHECK(warned(m, "the lowest rank is kept"));
}

TEST_CASE("vLLM V1: start-up, statistics, speculation and iterations") {
  const Measurement m = import_own("vllm-v1.log");
  CHECK(m.files[0].kind == "vllm_log");
  CHECK(m.files[0].rows == 13);
  CHECK(fact_text_of(m, "engine_version") == "0.12.0");
  CHECK(fact_text_of(m, "model") == "example/moe-small");
  CHECK(fact_of(m, "weights_gib") == 25.5);
  CHECK(fact_of(m, "weights_load_s") == 20.25);
  CHECK(fact_of(m, "kv_capacity_tokens") == 1048576);
  CHECK(fact_of(m, "max_concurrency_requests") == 8);
  CHECK(fact_of(m, "graph_memory_gib") == 0.75);
  CHECK(fact_of(m, "tp_size") == 4);
  CHECK(m.files[0].warnings.empty());
  const auto stats = rows_of(m, "engine_stats");
  REQUIRE(stats.size() == 2);
  CHECK(stats[0].at("prompt_throughput_tok_per_s") == 3200.5);
  CHECK_FALSE(stats[0].has("preempted_requests"));
  CHECK(stats[1].at("preempted_requests") == 1);
  CHECK(stats[1].at("prefix_hit_pct") == 0);
  CHECK(stats[1].at("external_prefix_hit_pct") == 5.5);
  const auto spec = rows_of(m, "spec_decoding");
  CHECK(spec.at(0).at("drafted_tokens") == 7680);
  CHECK(spec.at(0).at("position_3_accept_share") == 0.2);
  const auto iterations = rows_of(m, "iterations");
  REQUIRE(iterations.size() == 3);
  CHECK(iterations[0].at("iteration") == 17);
  CHECK(iterations[0].at("generation_requests") == 32);
  CHECK(iterations[1].at("context_tokens") == 128);
  CHECK(iterations[1].at("step_ms") == 30.25);
  CHECK(iterations[2].at("dummy") == 1);
}

TEST_CASE("vLLM V0: mapped, with the pool told by the stated concurrency") {
  const Measurement m = import_own("vllm-v0.log");
  CHECK(rows_of(m, "engine_stats").at(0).at("waiting_requests") == 2);
  CHECK(rows_of(m, "preemption").at(0).at("preempted_total_requests") == 51);
  CHECK(fact_of(m, "kv_capacity_blocks") == 2000);
  REQUIRE(m.derived.size() == 1);
  CHECK(*m.derived[0].value == 32000);
}

TEST_CASE("bench_serving JSON Lines: several runs, server info, per-request arrays, a cut line") {
  const Measurement m = import_own("sglang-bench.jsonl");
  const auto runs = rows_of(m, "bench_runs");
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].words.at("request_rate") == "Infinity");
  CHECK(runs[1].at("request_rate_per_s") == 8);
  CHECK(runs[0].at("mean_e2e_ms") == 2577);
  CHECK(runs[0].at("novel_key") == 7);
  CHECK_FALSE(runs[1].has("max_concurrency_requests"));
  CHECK(runs[2].at("duration_s") == 5);
  CHECK_FALSE(runs[2].has("completed_requests"));  // "12" may be the start of 128
  CHECK(fact_of(m, "kv_capacity_tokens") == 120000);
  CHECK(fact_of(m, "max_running_requests") == 64);
  CHECK(fact_of(m, "weights_gib") == 30.25);
  CHECK(fact_of(m, "bench.output_throughput_tok_per_s") == 3120.76);
  const auto requests = rows_of(m, "requests");
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].at("decode_s") == doctest::Approx(0.06));
  CHECK(requests[1].at("output_tokens") == 2);
  CHECK(warned(m, "unknown key 'novel_key'"));
}

TEST_CASE("vllm bench serve: JSON and printed table speak one vocabulary") {
  const Measurement json = import_own("vllm-bench.json");
  CHECK(json.files[0].kind == "vllm_bench");
  const auto run = rows_of(json, "bench_runs").at(0);
  CHECK(run.at("total_throughput_tok_per_s") == 853.3333333333334);
  CHECK(run.at("p99_ttft_ms") == 200.125);
  CHECK(run.at("mean_e2e_ms") == 4715.75);
  CHECK_FALSE(run.has("request_goodput_per_s"));
  REQUIRE(json.derived.size() == 1);  // (0.25+0.25 + 0.5+0.5) / 30
  CHECK(*json.derived[0].value == 0.05);
  const Measurement table = import_own("vllm-bench-console.txt");
  CHECK(table.files[0].engine == "vllm");
  const auto printed = rows_of(table, "bench_runs").at(0);
  CHECK(printed.at("total_throughput_tok_per_s") == 853.33);
  CHECK(printed.at("mean_tpot_ms") == 36.5);
  CHECK(table.fact("bench.mean_ttft_ms")->line == 14);
}

TEST_CASE("server info: memory and step times") {
  const Measurement m = import_own("server-info.json");
  CHECK(m.files[0].kind == "sglang_server_info");
  CHECK(fact_text_of(m, "model") == "example/moe-small");
  CHECK(fact_of(m, "kv_capacity_tokens") == 495488);
  CHECK(fact_of(m, "weights_gib") == 57.25);
  CHECK(fact_of(m, "max_running_requests_per_dp") == 2048);
  CHECK(m.fact("accept_len_tokens") == nullptr);  // null
  const auto steps = rows_of(m, "step_times");
  REQUIRE(steps.size() == 4);
  CHECK(steps[2].at("batch_requests") == 64);
  CHECK(steps[2].at("step_s") == 0.032);
}

TEST_CASE("GPU monitors: nvidia-smi CSV, table and dmon, amd-smi, DCGM, own scripts") {
  auto rows = rows_of(import_own("nvidia-smi-header.csv"), "gpu_samples");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("power_w") == 241.5);
  CHECK(rows[0].at("memory_used_mib") == 90112);
  CHECK(rows[0].words.at("pstate") == "P0");
  CHECK_FALSE(rows[1].has("power_w"));
  CHECK(rows[1].at("temperature_c") == 60);
  CHECK(rows[2].at("local_s") - rows[0].at("local_s") == 1);

  rows = rows_of(import_own("nvidia-smi-nounits.csv"), "gpu_samples");
  CHECK(rows.at(1).at("power_instant_w") == 611.5);  // the unit stands in the header
  CHECK(rows.at(1).at("sm_clock_mhz") == 1965);

  rows = rows_of(import_own("nvidia-smi-table.txt"), "gpu_samples");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("power_w") == 611);
  CHECK(rows[0].at("power_limit_w") == 700);
  CHECK(rows[0].at("memory_used_mib") == 120004);
  CHECK(rows[0].words.at("gpu_name") == "NVIDIA H200");
  CHECK_FALSE(rows[1].has("power_w"));
  CHECK(rows[1].at("power_limit_w") == 700);
  CHECK(rows[1].at("utilization_pct") == 0);

  rows = rows_of(import_own("dmon.txt"), "gpu_samples");
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].at("memory_temperature_c") == 71);
  CHECK_FALSE(rows[0].has("memory_temperature_c"));
  CHECK(rows[2].at("utilization_pct") == 99);
  CHECK(rows[2].at("sm_clock_mhz") == 2355);
  CHECK(rows[2].at("local_s") - rows[0].at("local_s") == 1);

  const Measurement amd = import_own("amd-smi.csv");
  CHECK(amd.files[0].kind == "amd_smi_csv");
  rows = rows_of(amd, "gpu_samples");
  CHECK(rows.at(0).at("power_w") == 741);
  CHECK_FALSE(rows.at(1).has("power_w"));
  CHECK(rows.at(2).at("epoch_s") == 1780300801);

  const Measurement dcgm = import_own("dcgm.txt");
  rows = rows_of(dcgm, "gpu_samples");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].at("power_w") == 611.25);
  CHECK(rows[2].at("energy_j") == doctest::Approx(1234567.0));
  CHECK(rows[3].at("dram_active_share") == 0.625);

  rows = rows_of(import_own("power-sweep.csv"), "gpu_samples");
  CHECK(rows.at(0).at("power_w") == 300.375);
  CHECK(rows.at(1).at("sm_clock_mhz") == 1342);
  CHECK(rows.at(1).at("power_limit_w") == 300);

  const Measurement named =
      import_text("241.5, 99\n240.5, 98\n", "p.csv", {"power.draw [W]", "utilization.gpu [%]"});
  CHECK(rows_of(named, "gpu_samples").at(1).at("power_w") == 240.5);
}

TEST_CASE("decode grid: results once, summary cells that stand nowhere else") {
  const Measurement m = import_own("decode-grid.json");
  const auto grid = rows_of(m, "decode_grid");
  REQUIRE(grid.size() == 2);
  CHECK(grid[0].at("accepted_tokens_counter") == 2001);
  CHECK(grid[1].at("accept_rate_share") == 0.5);
  CHECK(rows_of(m, "decode_grid_summary").at(0).at("output_throughput_tok_per_s") == 190.25);
  CHECK(rows_of(m, "prefill_grid").at(0).at("input_tokens") == 8192);
}

TEST_CASE("profilers: nsys sums and traces, Kineto") {
  const auto kernels = rows_of(import_own("nsys-kern-sum.csv"), "kernels");
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].words.at("name") == "void grouped_gemm<(int)2, true>(Params)");
  CHECK(kernels[0].words.at("class") == "moe_gemm");
  CHECK(kernels[0].at("stddev_ns") == 2500.5);
  CHECK_FALSE(kernels[1].has("min_ns"));
  CHECK(kernels[2].words.at("name") == "decode_attention_kernel<\"a, b\">");
  const auto trace = rows_of(import_own("nsys-gpu-trace.csv"), "gpu_events");
  REQUIRE(trace.size() == 2);
  CHECK(trace[0].at("duration_ns") == 2500);
  CHECK(trace[1].at("bytes_mb") == 4);
  CHECK_FALSE(trace[1].has("grdx"));
  const Measurement kineto = import_own("kineto.json");
  CHECK(fact_text_of(kineto, "gpu_name") == "NVIDIA H200");
  CHECK(fact_of(kineto, "rank") == 3);
  const auto events = rows_of(kineto, "gpu_events");
  REQUIRE(events.size() == 2);
  CHECK(events[0].line == 9);
  CHECK(events[0].at("start_us") == 15.125);
  CHECK(events[0].at("duration_us") == 8.5);
  CHECK(events[0].at("grid_blocks") == 264);
  CHECK(events[0].words.at("class") == "dense_gemm");
  CHECK(events[1].at("bytes") == 4096);
  CHECK(events[1].words.at("class") == "memory");
}

TEST_CASE("kernel classes go by the names of the libraries") {
  const auto name = [](const char* kernel) {
    return std::string(name_of(class_of_kernel(kernel)));
  };
  CHECK(name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL") == "comm");
  CHECK(name("void flashinfer::trtllm_allreduce_fusion::kernel") == "comm");
  CHECK(name("bmm_E2m1_E2m1E2m1_Fp32_t128x8x512") == "moe_gemm");
  CHECK(name("void cutlass::device_kernel<GroupProblemShape>") == "moe_gemm");
  CHECK(name("topkGatingSoftmax<float, 8>") == "moe_route");
  CHECK(name("flash_fwd_splitkv_combine_kernel") == "attention");
  CHECK(name("fmhaSm100fKernel_QkvE4m3") == "attention");
  CHECK(name("flashinfer::norm::RMSNormKernel") == "norm");
  CHECK(name("nvjet_tst_64x8_64x16") == "dense_gemm");
  CHECK(name("fused_add_rmsnorm") == "norm");
  CHECK(name("something_new") == "other");
}

TEST_CASE("kernel tables and request traces") {
  const Measurement table = import_own("moe.csv");
  CHECK(table.files[0].kind == "kernel_table");
  const auto rows = rows_of(table, "table_moe");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].line == 3);
  CHECK(rows[0].at("latency_ms") == 0.025);
  CHECK(rows[0].at("power_w") == 310.5);
  CHECK_FALSE(rows[1].has("power_w"));
  CHECK(rows[2].words.at("distribution") == "power_law_1.2");
  CHECK(rows[2].at("latency_ms") == 0);

  auto requests = rows_of(import_own("azure-2023.csv"), "requests");
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].at("arrival_ms") == 0);
  CHECK(requests[1].at("arrival_ms") == 4315);
  CHECK(requests[1].at("input_tokens") == 396);
  CHECK(requests[2].at("output_tokens") == 55);
  requests = rows_of(import_own("vidur.csv"), "requests");
  CHECK(requests.at(1).at("arrival_ms") == 250);
  CHECK(requests.at(1).at("input_tokens") == 1024);
  requests = rows_of(import_own("mooncake.jsonl"), "requests");
  CHECK(requests.at(0).words.at("prefix_blocks") == "0-3");
  CHECK(requests.at(1).words.at("prefix_blocks") == "0 14-16 20");
  CHECK(requests.at(1).at("arrival_ms") == 27);
  const Measurement log = import_own("requests.log");
  CHECK(log.files[0].kind == "request_log");
  requests = rows_of(log, "requests");
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].at("ttft_ms") == 125);
  CHECK(requests[1].at("ttft_ms") == 130);
  CHECK(requests[1].at("e2e_ms") == 1250);
  const auto steps = rows_of(import_own("steps.csv"), "steps");
  CHECK(steps.at(1).at("step_ms") == 30.5);
  CHECK(steps.at(1).words.at("phase") == "decode");
}

TEST_CASE("a measurement is written as JSON and as CSV") {
  const Measurement m = import_own("nvidia-smi-header.csv");
  std::string text;
  write_json(m, [&](std::string_view part) { text += part; });
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["schema"] == "plateau-import/1");
  CHECK(json["files"][0]["kind"] == "nvidia_smi_csv");
  CHECK(json["files"][0]["rows"] == 3);
  CHECK(json["files"][0]["engine"].is_null());
  CHECK(json["files"][0]["ignored"][0]["count"] == 1);
  const nlohmann::json& samples = json["series"]["gpu_samples"];
  CHECK(samples["columns"][1] == "line");
  REQUIRE(samples["rows"].size() == 3);
  const auto power = std::find(samples["columns"].begin(), samples["columns"].end(), "power_w") -
                     samples["columns"].begin();
  CHECK(samples["rows"][0][static_cast<std::size_t>(power)] == 241.5);
  CHECK(samples["rows"][1][static_cast<std::size_t>(power)].is_null());
  CHECK(samples["rows"][1][1] == 3);  // line
  text.clear();
  write_csv(import_own("sglang-0.4.6.log"), [&](std::string_view part) { text += part; });
  CHECK(text.find("series,file,line,name,value,text,") != std::string::npos);
  CHECK(text.find(",9,kv_capacity_tokens,120000,") != std::string::npos);
}

TEST_CASE("series longer than the memory they may take come back in order") {
  Series series("long");
  const std::size_t a = series.column("a");
  const std::size_t word = series.column("w", true);
  constexpr int kRows = 400000;
  for (int i = 0; i < kRows; ++i) {
    series.begin_row(0, i + 1);
    series.set(a, i * 0.5);
    if (i % 3 == 0) series.set_word(word, "w" + std::to_string(i % 7));
    series.end_row();
  }
  CHECK(series.rows() == kRows);
  int at = 0;
  bool good = true;
  for (int pass = 0; pass < 2; ++pass) {
    at = 0;
    series.for_each([&](const Series::Row& row) {
      good = good && row.line == at + 1 && row.number(a) == at * 0.5;
      good = good && row.number(word).has_value() == (at % 3 == 0);
      ++at;
    });
  }
  CHECK(at == kRows);
  CHECK(good);
}
