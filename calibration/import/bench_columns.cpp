#include "calibration/import/bench_columns.h"

#include <array>
#include <utility>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Name {
  std::string_view key;
  std::string_view column;
};

constexpr Name kKeys[] = {
    {"duration", "duration_s"},
    {"completed", "completed_requests"},
    {"failed", "failed_requests"},
    {"num_prompts", "prompts"},
    {"num_requests", "prompts"},
    {"good_completed", "good_completed_requests"},
    {"max_concurrency", "max_concurrency_requests"},
    {"concurrency", "concurrency_requests"},
    {"max_concurrent_requests", "peak_concurrency_requests"},
    {"request_rate", "request_rate_per_s"},
    {"burstiness", "burstiness"},
    {"random_input_len", "random_input_len_tokens"},
    {"random_output_len", "random_output_len_tokens"},
    {"random_range_ratio", "random_range_ratio"},
    {"sharegpt_output_len", "sharegpt_output_len_tokens"},
    {"total_input_tokens", "total_input_tokens"},
    {"total_input", "total_input_tokens"},
    {"total_input_text_tokens", "total_input_text_tokens"},
    {"total_input_vision_tokens", "total_input_vision_tokens"},
    {"total_output_tokens", "total_output_tokens"},
    {"total_output_tokens_retokenized", "total_output_tokens_retokenized"},
    {"request_throughput", "request_throughput_per_s"},
    {"request_goodput", "request_goodput_per_s"},
    {"input_throughput", "input_throughput_tok_per_s"},
    {"output_throughput", "output_throughput_tok_per_s"},
    {"total_throughput", "total_throughput_tok_per_s"},
    {"total_token_throughput", "total_throughput_tok_per_s"},
    {"max_output_tokens_per_s", "peak_output_tok_per_s"},
    {"accept_length", "accept_len_tokens"},
    {"spec_decode_acceptance_length", "accept_len_tokens"},
    {"spec_decode_acceptance_rate", "accept_rate_pct"},
    {"spec_decode_num_drafts", "drafts"},
    {"spec_decode_draft_tokens", "draft_tokens"},
    {"spec_decode_accepted_tokens", "accepted_tokens"},
    {"rtfx", "rtfx"},
    {"ramp_up_start_rps", "ramp_up_start_per_s"},
    {"ramp_up_end_rps", "ramp_up_end_per_s"},
};

constexpr std::array<std::string_view, 4> kFamilies = {"ttft", "tpot", "itl", "e2e"};

// "mean", "median", "std", "max", "p99".
bool is_statistic(std::string_view text) {
  if (text == "mean" || text == "median" || text == "std" || text == "max" || text == "min")
    return true;
  return text.size() >= 2 && text[0] == 'p' && number(text.substr(1));
}

// "median_ttft", "p99_e2el_ms", "mean_e2e_latency_ms".
std::optional<BenchColumn> latency_column(std::string_view key) {
  const std::size_t bar = key.find('_');
  if (bar == kNowhere || !is_statistic(key.substr(0, bar))) return std::nullopt;
  std::string_view family = key.substr(bar + 1);
  double factor = 1000;
  constexpr std::string_view kMilliseconds = "_ms";
  if (family.size() > 3 && family.substr(family.size() - 3) == kMilliseconds) {
    family.remove_suffix(3);
    factor = 1;
  }
  if (family == "e2el" || family == "e2e_latency") family = "e2e";
  for (const std::string_view known : kFamilies) {
    if (family == known) {
      return BenchColumn{std::string(key.substr(0, bar)) + "_" + std::string(family) + "_ms",
                         factor};
    }
  }
  return std::nullopt;
}

constexpr Name kLabels[] = {
    {"successful requests", "completed_requests"},
    {"failed requests", "failed_requests"},
    {"max request concurrency", "max_concurrency_requests"},
    {"maximum request concurrency", "max_concurrency_requests"},
    {"request rate configured (rps)", "request_rate_per_s"},
    {"traffic request rate", "request_rate_per_s"},
    {"benchmark duration (s)", "duration_s"},
    {"total input tokens", "total_input_tokens"},
    {"total input text tokens", "total_input_text_tokens"},
    {"total input vision tokens", "total_input_vision_tokens"},
    {"total generated tokens", "total_output_tokens"},
    {"total generated tokens (retokenized)", "total_output_tokens_retokenized"},
    {"request throughput (req/s)", "request_throughput_per_s"},
    {"request goodput (req/s)", "request_goodput_per_s"},
    {"input token throughput (tok/s)", "input_throughput_tok_per_s"},
    {"output token throughput (tok/s)", "output_throughput_tok_per_s"},
    {"peak output token throughput (tok/s)", "peak_output_tok_per_s"},
    {"peak concurrent requests", "peak_concurrency_requests"},
    {"total token throughput (tok/s)", "total_throughput_tok_per_s"},
    {"concurrency", "concurrency_requests"},
    {"accept length", "accept_len_tokens"},
    {"acceptance length", "accept_len_tokens"},
    {"acceptance rate (%)", "accept_rate_pct"},
    {"drafts", "drafts"},
    {"draft tokens", "draft_tokens"},
    {"accepted tokens", "accepted_tokens"},
};

}  // namespace

BenchColumn bench_column(std::string_view key) {
  for (const Name& name : kKeys) {
    if (name.key == key) return {std::string(name.column), 1, true};
  }
  if (const auto latency = latency_column(key)) return *latency;
  return {column_name(key), 1, false};
}

std::optional<BenchColumn> bench_label(std::string_view label) {
  const std::string text = lower(label);
  for (const Name& name : kLabels) {
    if (name.key == text) return BenchColumn{std::string(name.column), 1, true};
  }
  // "mean ttft (ms)", "p99 e2e latency (ms)", "mean e2el (ms)"
  constexpr std::string_view kUnit = " (ms)";
  if (text.size() < kUnit.size() || text.substr(text.size() - kUnit.size()) != kUnit)
    return std::nullopt;
  std::string key = text.substr(0, text.size() - kUnit.size()) + "_ms";
  for (char& c : key) c = c == ' ' ? '_' : c;
  return latency_column(key);
}

}  // namespace plateau::imports
