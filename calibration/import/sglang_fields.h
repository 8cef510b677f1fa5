// The fields of SGLang's decode and prefill lines, and the eras that their forms tell apart.
#pragma once

#include <string>
#include <vector>

namespace plateau::imports {

struct SglangField {
  std::string key;       // as printed
  std::string column;    // with its unit
  bool can_end = false;  // may stand last in a record: a newline ends it
};

const std::vector<SglangField>& sglang_decode_fields();
const std::vector<SglangField>& sglang_prefill_fields();

enum SglangFeature : unsigned {
  kFullStop = 1,  // "Decode batch."
  kComma = 2,     // "Decode batch,"
  kDecodeGraph = 4,
  kDecodeNoGraph = 8,
  kTrailingComma = 16,  // behind #queue-req
  kPlainEnd = 32,
  kPrefillGraph = 64,
  kPendingTokens = 128,
  kEstimates = 256,
  kOldRetraction = 512,  // "Decode out of memory happened"
};

// Release or date range in which all the features were printed.
std::string sglang_era(unsigned seen);

}  // namespace plateau::imports
