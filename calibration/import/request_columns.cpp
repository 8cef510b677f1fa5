#include "calibration/import/request_columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 22> kTokens = {{
    {"input_tokens", "input_tokens"},
    {"num_prefill_tokens", "input_tokens"},
    {"contexttokens", "input_tokens"},
    {"request_tokens", "input_tokens"},
    {"prompt_tokens", "input_tokens"},
    {"prompt_len", "input_tokens"},
    {"input_len", "input_tokens"},
    {"input_length", "input_tokens"},
    {"isl", "input_tokens"},
    {"input", "input_tokens"},
    {"prompt", "input_tokens"},
    {"output_tokens", "output_tokens"},
    {"num_decode_tokens", "output_tokens"},
    {"generatedtokens", "output_tokens"},
    {"response_tokens", "output_tokens"},
    {"completion_tokens", "output_tokens"},
    {"generated_tokens", "output_tokens"},
    {"output_len", "output_tokens"},
    {"output_length", "output_tokens"},
    {"osl", "output_tokens"},
    {"output", "output_tokens"},
    {"completion", "output_tokens"},
}};

// Times without their unit; true: measured.
struct Time {
  std::string_view name;
  std::string_view column;
  bool outcome;
};
constexpr Time kTimes[] = {
    {"ttft", "ttft", true},
    {"time_to_first_token", "ttft", true},
    {"tpot", "tpot", true},
    {"itl", "itl", true},
    {"latency", "e2e", true},
    {"e2e", "e2e", true},
    {"e2el", "e2e", true},
    {"e2e_latency", "e2e", true},
    {"total_time", "e2e", true},
    {"queued", "queued", true},
    {"scheduled", "scheduled", true},
    {"first_token", "first_token", true},
    {"last_token", "last_token", true},
    {"arrival", "arrival", false},
    {"arrival_time", "arrival", false},
    {"start", "start", true},
    {"start_time", "start", true},
};

std::optional<double> milliseconds(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s" || unit == "sec" || unit == "secs" || unit == "seconds") return 1000;
  return std::nullopt;
}

}  // namespace

std::optional<RequestColumn> request_column(std::string_view name, std::string_view unit) {
  using Kind = RequestColumn::Kind;
  const std::string plain = column_name(name);
  if (name == "TIMESTAMP") return RequestColumn{Kind::date, "arrival_ms"};
  // BurstGPT's "Timestamp" and Vidur's "arrived_at" are seconds by their documentation.
  if (plain == "arrived_at" || name == "Timestamp")
    return RequestColumn{Kind::number, "arrival_ms", 1000};
  if (plain == "prefix_blocks") return RequestColumn{Kind::word, "prefix_blocks"};
  if (plain == "request_id" || plain == "req" || plain == "request" || plain == "id") {
    return RequestColumn{Kind::number, "request"};
  }
  for (const auto& [word, column] : kTokens) {
    if (plain == word) return RequestColumn{Kind::number, std::string(column)};
  }
  std::string base = plain;
  std::string given(unit);
  const std::size_t bar = plain.rfind('_');
  if (given.empty() && bar != std::string::npos && milliseconds(plain.substr(bar + 1))) {
    given = plain.substr(bar + 1);
    base = plain.substr(0, bar);
  }
  for (const Time& time : kTimes) {
    if (base != time.name) continue;
    const auto factor = milliseconds(given);
    if (!factor)
      return RequestColumn{Kind::unit_missing, std::string(time.column), 1, time.outcome};
    return RequestColumn{Kind::number, std::string(time.column) + "_ms", *factor, time.outcome};
  }
  return std::nullopt;
}

}  // namespace plateau::imports
