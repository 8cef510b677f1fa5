// Names of what a request trace or a per-request log says, in one vocabulary.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plateau::imports {

struct RequestColumn {
  enum class Kind : std::uint8_t { number, date, word, unit_missing };
  Kind kind = Kind::number;
  std::string column;  // arrival_ms, input_tokens, output_tokens, ttft_s, ...
  double factor = 1;
  bool outcome = false;  // a measured time, not an input of the run
};

// `unit`: what stands behind the value ("s", "ms", "tokens"); the name may carry it too (ttft_ms).
// Nothing for a name that says nothing about a request; Kind::unit_missing for a time without a
// unit.
std::optional<RequestColumn> request_column(std::string_view name, std::string_view unit);

}  // namespace plateau::imports
