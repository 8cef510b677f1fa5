// One vocabulary for benchmark results: SGLang and vLLM name the same figure differently.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/import/measurement.h"

namespace plateau::imports {

struct BenchColumn {
  std::string column;
  double factor = 1;
  bool known = true;
};
// From a JSON key: "total_token_throughput" -> total_throughput_tok_per_s; "median_ttft" (seconds,
// older files) -> median_ttft_ms with factor 1000.
BenchColumn bench_column(std::string_view key);
// From the label of the printed table: "Mean E2E Latency (ms)" -> mean_e2e_ms.
std::optional<BenchColumn> bench_label(std::string_view label);

}  // namespace plateau::imports
