#include "calibration/import/decode_samples.h"

#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

std::map<std::int64_t, DropReason> reasons_of(const DecodeSamples& samples) {
  std::map<std::int64_t, DropReason> reasons;
  for (const DroppedLine& line : samples.dropped) reasons[line.line] = line.reason;
  return reasons;
}

std::string decode(int second, int running, int tokens, const char* throughput,
                   const char* ranks = "TP0") {
  return "[2026-01-02 03:00:" + std::to_string(10 + second) + " " + ranks +
         "] Decode batch, #running-req: " + std::to_string(running) +
         ", #token: " + std::to_string(tokens) +
         ", token usage: 0.10, cuda graph: True, gen throughput (token/s): " + throughput +
         ", #queue-req: 0\n";
}

const char* const kPrefill =
    "[2026-01-02 03:00:10 TP0] Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0, token "
    "usage: 0.10, "
    "#running-req: 4, #queue-req: 0\n";

}  // namespace

TEST_CASE("a decode line gives a step time only when its window held one unchanged batch") {
  const std::string text =
      decode(0, 4, 400, "100.00") +  // 1: first
      decode(1, 4, 560, "200.00") +  // 2: 4 / 200 = 20 ms
      kPrefill +                     // 3
      decode(2, 4, 720, "150.00") +  // 4: prefill
      decode(3, 5, 900, "250.00") +  // 5: running changed
      decode(4, 5, 700, "250.00") +  // 6: other requests
      decode(5, 5, 900, "0.00") +    // 7: nothing ran
      "[2026-01-02 03:00:15 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, "
      "#new_token_ratio: 0.10 -> 0.20\n" +  // 8
      decode(6, 5, 900, "250.00") +         // 9: retraction
      decode(7, 5, 1100, "250.00");         // 10: 5 / 250 = 20 ms
  const DecodeSamples found = decode_step_samples(import_text(text));
  REQUIRE(found.samples.size() == 2);
  CHECK(found.samples[0].line == 2);
  CHECK(found.samples[0].step_s == doctest::Approx(0.02));
  CHECK(found.samples[0].running_requests == 4);
  CHECK(*found.samples[0].held_tokens == 560);
  CHECK(*found.samples[0].cuda_graph);
  CHECK(found.samples[1].line == 10);
  const auto reasons = reasons_of(found);
  CHECK(reasons.at(1) == DropReason::first);
  CHECK(reasons.at(4) == DropReason::prefill);
  CHECK(reasons.at(5) == DropReason::running_changed);
  CHECK(reasons.at(6) == DropReason::other_requests);
  CHECK(reasons.at(7) == DropReason::nothing_ran);
  CHECK(reasons.at(9) == DropReason::retraction);
  CHECK(std::string(name_of(reasons.at(4))) == "a prefill ran in the window");
}

TEST_CASE("ranks keep windows of their own, but a prefill of any rank stalls all") {
  const Measurement m = import_own("sglang-0.5.5-dp.log");
  const DecodeSamples found = decode_step_samples(m);
  REQUIRE(found.samples.size() == 2);
  CHECK(found.samples[0].dp_rank == 0);
  CHECK(found.samples[0].step_s == doctest::Approx(4 * 2.5 / 200));
  CHECK(found.samples[1].dp_rank == 1);
  CHECK(found.samples[1].step_s == doctest::Approx(5 * 2.4 / 240));
  CHECK_FALSE(*found.samples[1].cuda_graph);
  CHECK(reasons_of(found).at(9) == DropReason::retraction);
}

TEST_CASE("a run that starts anew in the same file has a first line again") {
  std::string earlier = decode(3, 4, 900, "200.00");
  earlier.replace(earlier.find("03:00:"), 6, "01:00:");
  const DecodeSamples found =
      decode_step_samples(import_text(decode(0, 4, 400, "100.00") + earlier));
  CHECK(found.samples.empty());
  CHECK(reasons_of(found).at(2) == DropReason::first);
}

TEST_CASE(
    "vLLM: iterations give steps; statistics do when nothing changed and speculation is known") {
  const DecodeSamples found = decode_step_samples(import_own("vllm-v1.log"));
  REQUIRE(found.samples.size() == 2);
  // Statistics of line 8: 32 running, 2.5 tokens a round, 640 tok/s.
  CHECK(found.samples[0].source == StepSource::vllm_statistics);
  CHECK(found.samples[0].step_s == doctest::Approx(32 * 2.5 / 640));
  CHECK(found.samples[1].source == StepSource::vllm_iteration);
  CHECK(found.samples[1].step_s == doctest::Approx(0.0255));
  const auto reasons = reasons_of(found);
  CHECK(reasons.at(7) == DropReason::prefill);
  CHECK(reasons.at(11) == DropReason::prefill);
  CHECK(reasons.at(12) == DropReason::dummy);
}

TEST_CASE("step_time_dict is taken as it is") {
  const DecodeSamples found = decode_step_samples(import_own("server-info.json"));
  REQUIRE(found.samples.size() == 4);
  CHECK(found.samples[3].running_requests == 1024);
  CHECK(found.samples[3].step_s == 0.75);
}
