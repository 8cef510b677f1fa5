// Prefill times that a log gives away.
//
// SGLang prints a prefill line when the batch is formed, with 1 s stamps, and a throughput over the
// time since the prefill line before. That time is one batch's only when nothing but prefills ran
// between the two lines: no decode line and no retraction stands there, requests were waiting after
// the first (prefills go before decodes, so another one followed at once), and the second counts
// the first's requests as running. Then
//     prefill_s = tokens / input throughput
// where old and new forms mean the first and the second batch's tokens: a pair counts when both
// took the same number, to 2 %. vLLM's iteration lines without generation, and a step trace's
// prefills, give a step each. Wrong by the rounding of pages and by what overlaps at a batch's
// ends.
#pragma once

#include <vector>

#include "calibration/import/measurement.h"

namespace plateau::imports {

struct PrefillSample {
  int file = 0;
  std::int64_t line = 0;
  double requests = 0;
  double new_tokens = 0;     // computed in the batch
  double cached_tokens = 0;  // of these requests, held before
  double step_s = 0;
  bool host_included = true;
};

std::vector<PrefillSample> prefill_samples(const Measurement& measurement);

}  // namespace plateau::imports
