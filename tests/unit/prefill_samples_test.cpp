#include "calibration/import/prefill_samples.h"

#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

std::string prefill(int sequences, int tokens, int running, int queue, const char* throughput) {
  return "[2026-04-02 03:00:10 TP0] Prefill batch, #new-seq: " + std::to_string(sequences) +
         ", #new-token: " + std::to_string(tokens) +
         ", #cached-token: 0, token usage: 0.10, #running-req: " + std::to_string(running) +
         ", #queue-req: " + std::to_string(queue) +
         ", cuda graph: False, input throughput (token/s): " + throughput + "\n";
}

const char* const kDecode =
    "[2026-04-02 03:00:12 TP0] Decode batch, #running-req: 8, #token: 900, token usage: 0.10, cuda "
    "graph: True, gen throughput (token/s): 100.00, #queue-req: 2\n";

}  // namespace

TEST_CASE("a prefill line gives a time only when prefills alone ran since the one before") {
  const std::string text = prefill(4, 4096, 0, 12, "0.00") +     // 1: nothing before
                           prefill(4, 4096, 4, 8, "8192.00") +   // 2: 4096 / 8192 = 0.5 s
                           prefill(4, 2048, 8, 2, "8192.00") +   // 3: other tokens
                           kDecode +                             // 4
                           prefill(4, 2048, 12, 2, "2048.00") +  // 5: decode between
                           prefill(4, 2048, 12, 0, "2048.00") +  // 6: decoded between, unlogged
                           prefill(4, 2048, 16, 0, "2048.00");   // 7: nobody waited
  const std::vector<PrefillSample> samples = prefill_samples(import_text(text));
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].line == 2);
  CHECK(samples[0].requests == 4);
  CHECK(samples[0].new_tokens == 4096);
  CHECK(samples[0].step_s == doctest::Approx(0.5));
  CHECK(samples[0].host_included);
}

TEST_CASE("a step trace gives its prefills as they are") {
  const std::vector<PrefillSample> samples = prefill_samples(import_own("steps.csv"));
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].requests == 64);
  CHECK(samples[0].new_tokens == 8192);
  CHECK(samples[0].step_s == doctest::Approx(0.17025));
  CHECK_FALSE(samples[0].host_included);
}
