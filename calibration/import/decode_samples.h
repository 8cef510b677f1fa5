// Step times that a log gives away: which lines tell one, and why the others do not.
//
// SGLang's decode line averages over the steps since the line before it (40 by default): its
// throughput contains prefills, idle time and changes of the batch in that window. A line gives
//     step_s = running * accept_len / throughput          (accept_len 1 without speculation)
// only when its window held decode steps of one unchanged batch: it is not the rank's first line,
// no prefill and no retraction stands between, the number of running requests is that of the line
// before, and the tokens held did not shrink (same number, other requests). vLLM's iteration lines
// give a step each; its 10 s statistics do when no prompt token ran and running and waiting stayed.
// SGLang's step_time_dict is taken as it is. A step trace gives the GPU's time of each decode step,
// and, where another decode step follows, the time from start to start, host included. Wrong by the
// rounding of the throughput and, under the overlap schedule, by the request that finishes one step
// late.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/measurement.h"

namespace plateau::imports {

enum class StepSource : std::uint8_t {
  sglang_decode_line,
  sglang_step_time,
  vllm_iteration,
  vllm_statistics,
  step_trace
};

struct DecodeSample {
  StepSource source = StepSource::sglang_decode_line;
  int file = 0;
  std::int64_t line = 0;
  int dp_rank = -1;  // -1: not stated
  double running_requests = 0;
  std::optional<double> held_tokens{};  // KV tokens in use at the window's end, of the rank
  std::optional<double> held_before{};  // at its start
  double step_s = 0;
  bool host_included = true;        // step_s counts the host's work between steps
  std::optional<double> start_s{};  // the window, on the file's clock
  std::optional<double> end_s{};
  std::optional<bool> cuda_graph{};
};

enum class DropReason : std::uint8_t {
  incomplete,       // a field that the rule needs is missing
  first,            // the window has no start
  prefill,          // a prefill stands in the window
  retraction,       // a retraction stands in the window
  running_changed,  // the batch grew or shrank
  other_requests,   // as many requests, but others: fewer tokens held
  nothing_ran,      // throughput or running is 0
  dummy,            // a step without requests that keeps ranks in step
  no_acceptance,    // speculation runs, but no acceptance length stands near the line
};
const char* name_of(DropReason reason);

struct DroppedLine {
  int file = 0;
  std::int64_t line = 0;
  DropReason reason = DropReason::incomplete;
};

struct DecodeSamples {
  std::vector<DecodeSample> samples;
  std::vector<DroppedLine> dropped;
};

DecodeSamples decode_step_samples(const Measurement& measurement);

}  // namespace plateau::imports
