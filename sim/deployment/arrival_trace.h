// A recorded arrival trace: when requests came and how long they were.
//
// CSV, plain or gzip, with the columns arrival_ms, input_tokens, output_tokens and optionally
// prefix_blocks. Times are milliseconds from any origin, in ascending order (equal ones allowed);
// the first row is sent at time 0. This is what the public Azure (2023) and Mooncake (FAST 2025)
// traces hold once their stamps are turned into milliseconds.
//
// prefix_blocks are ids of 512-token prompt blocks, written as runs ("0-13 20 31-40"): prompts that
// begin with the same ids share that prefix. A prefix cache is not modelled, so the column only
// says how much is computed anew that an unlimited cache would have kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/open_loop.h"

namespace plateau {

struct ArrivalRow {
  SimTime arrival{};  // since the first row
  std::int32_t input_tokens = 0;
  std::int32_t output_tokens = 0;
  int line = 0;  // of the file
};

struct ArrivalTrace {
  std::string file;
  std::vector<ArrivalRow> rows;
  // Prompt tokens in prefix blocks that earlier rows sent, over all prompt tokens; nothing without
  // prefix_blocks.
  std::optional<double> repeated_prefix_share;
};

inline constexpr int kPrefixBlockTokens = 512;

// The first `most_rows` rows (0: all). Throws InputError: a bad cell, an arrival before the one
// above it, no rows.
ArrivalTrace read_arrival_trace(const std::string& path, std::int64_t most_rows = 0);

// Rows with arrival times divided by `rate_scale`, so that 2 means twice the load.
class TraceArrivals : public RequestSource {
 public:
  TraceArrivals(std::shared_ptr<const ArrivalTrace> trace, double rate_scale)
      : trace_(std::move(trace)), rate_scale_(rate_scale) {}
  std::optional<Request> next() override;

 private:
  std::shared_ptr<const ArrivalTrace> trace_;
  double rate_scale_;
  std::size_t sent_ = 0;
};

}  // namespace plateau
