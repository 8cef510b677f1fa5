#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "sim/report/report.h"

using namespace plateau;

TEST_CASE("report json: every key of the contract") {
  const auto json = nlohmann::json::parse(report_json(Report{}));
  const std::vector<std::pair<std::string, std::vector<std::string>>> contract = {
      {"throughput", {"output_tok_per_s", "total_tok_per_s", "requests_per_s"}},
      {"steady_state", {"output_tok_per_s", "total_tok_per_s", "requests_per_s", "rule"}},
      {"running", {"mean", "peak", "first_wave"}},
      {"queue", {"mean", "peak"}},
      {"retractions", {"count", "recomputed_tokens"}},
      {"kv",
       {"capacity_tokens", "bytes_per_token_per_gpu", "page_tokens", "peak_used_tokens", "source",
        "wall_requests"}},
      {"latency_ms", {"ttft", "tpot", "itl", "e2e"}},
      {"step", {"decode_ms", "prefill_ms", "decode_count", "prefill_count"}},
      {"power",
       {"gpu_w_mean", "gpu_w_p95_meter", "gpu_w_each", "utilization_pct", "tdp_fraction",
        "node_w"}},
      {"energy", {"j_per_output_token", "j_total", "split"}},
      {"binding", {"constraint", "why", "ladder"}},
      {"interval", {"output_tok_per_s", "gpu_w_mean"}},
      {"provenance",
       {"share_measured", "share_interpolated", "share_extrapolated", "share_roofline",
        "share_assumed", "tables", "seed", "version"}},
  };
  CHECK(json.at("schema") == "plateau-report/1");
  for (const auto& [section, keys] : contract) {
    REQUIRE_MESSAGE(json.contains(section), section);
    for (const auto& key : keys)
      CHECK_MESSAGE(json.at(section).contains(key), section << "." << key);
  }
  for (const char* section : {"experts", "warnings", "definitions"}) CHECK(json.contains(section));
  for (const char* split : {"time_split", "time_split_decode", "time_split_prefill"}) {
    for (const char* part : {"attention", "dense_gemm", "moe", "all_reduce", "all_to_all", "launch",
                             "host", "norm_etc", "lm_head", "wait", "idle"}) {
      CHECK_MESSAGE(json.at(split).contains(part), split << "." << part);
    }
    CHECK(json.at(split).size() == kParts);
  }
  for (const char* statistic : {"mean", "p50", "p90", "p99"})
    CHECK(json.at("latency_ms").at("itl").contains(statistic));
}

TEST_CASE("report json: unrounded numbers, missing values null, stable bytes") {
  Report report;
  report.throughput.output_tok_per_s = 2095.123456789012345;
  report.power.gpu_w_mean = std::numeric_limits<double>::quiet_NaN();
  report.interval.output_tok_per_s = Interval{1.0 / 3, 2};
  report.binding.ladder = {{"kv_pool", 3000, 0.4}};
  report.provenance.seed = 18446744073709551615ULL;
  report.provenance.tables = {{"moe.csv", "00ff", 0.01}};
  report.warnings = {"tab\tand \"quotes\""};
  ExpertsReport experts;
  experts.rank_max_over_mean = 1.25;
  report.experts = experts;
  const std::string text = report_json(report);
  CHECK(text == report_json(report));
  CHECK(text.back() == '\n');
  const auto json = nlohmann::json::parse(text);
  CHECK(json["throughput"]["output_tok_per_s"].get<double>() == report.throughput.output_tok_per_s);
  CHECK(json["interval"]["output_tok_per_s"][0].get<double>() == 1.0 / 3);
  CHECK(json["interval"]["gpu_w_mean"].is_null());
  CHECK(json["power"]["gpu_w_mean"].is_null());
  CHECK(json["latency_ms"]["ttft"]["p99"].is_null());
  CHECK(json["kv"]["wall_requests"].is_null());
  CHECK(json["binding"]["ladder"][0]["tok_per_s_if_relaxed"] == 3000);
  CHECK(json["provenance"]["seed"].get<std::uint64_t>() == report.provenance.seed);
  CHECK(json["provenance"]["tables"][0]["digest"] == "00ff");
  CHECK(json["experts"]["rank_max_over_mean"] == 1.25);
  CHECK(json["warnings"][0] == report.warnings[0]);
  CHECK(text.find("\"throughput\"") < text.find("\"steady_state\""));
  CHECK(text.find("\"binding\"") < text.find("\"provenance\""));
}

TEST_CASE("report json: a series is columns of equal length") {
  Report report;
  CHECK_FALSE(nlohmann::json::parse(report_json(report)).contains("series"));
  report.series = {{0, 1, 2, 3, 4, 5, 6}, {1, 1, 2, 3, 4, 5, 7}};
  const auto json = nlohmann::json::parse(report_json(report));
  for (const auto& [key, column] : json["series"].items()) CHECK_MESSAGE(column.size() == 2, key);
  CHECK(json["series"]["output_tok_per_s"][1] == 7);
}
