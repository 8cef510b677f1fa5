// The grouped SGLang scheduler takes exactly the steps of the one written request by request.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/support/reference_sglang.h"
#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

struct Case {
  EngineLimits limits;
  std::vector<Request> requests;
  std::size_t concurrency = 1;
};

// Pools from barely enough for the longest request to plenty for all, so that every rule is met.
Case draw_case(std::int64_t longest_output) {
  Case drawn;
  EngineLimits& limits = drawn.limits;
  limits.page_tokens = *rc::gen::element(1, 2, 4, 16);
  limits.max_running = *rc::gen::inRange<std::int64_t>(1, 60);
  limits.chunk_tokens = *rc::gen::element<std::int64_t>(-1, 16, 23, 37, 64, 512);
  limits.num_continuous_decode_steps = *rc::gen::inRange(1, 5);
  SglangLimits& sglang = limits.sglang;
  sglang.rules = *rc::gen::element(SglangRules::feb_2026, SglangRules::jul_2026);
  sglang.max_prefill_tokens = *rc::gen::element<std::int64_t>(20, 100, 16384);
  sglang.ignore_eos = *rc::gen::weightedElement<bool>({{3, true}, {1, false}});
  sglang.radix_cache = *rc::gen::arbitrary<bool>();
  sglang.overlap = *rc::gen::weightedElement<bool>({{2, true}, {1, false}});
  sglang.mixed_chunk = *rc::gen::weightedElement<bool>({{3, false}, {2, true}});
  sglang.schedule_conservativeness = *rc::gen::element(0.01, 0.05, 0.3, 1.0);
  sglang.honour_continuous_decode_steps = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});

  const auto count = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto longest_prompt = *rc::gen::element<std::int64_t>(3, 30, 90);
  std::int64_t largest = 0;
  for (std::int64_t id = 0; id < count; ++id) {
    Request request;
    request.id = id;
    request.input_tokens = *rc::gen::inRange<std::int64_t>(1, longest_prompt + 1);
    request.output_tokens = *rc::gen::inRange<std::int64_t>(1, longest_output + 1);
    request.max_new_tokens = request.output_tokens;
    if (!sglang.ignore_eos) request.max_new_tokens += *rc::gen::inRange<std::int64_t>(0, 10);
    largest = std::max(largest, request.input_tokens + request.max_new_tokens);
    drawn.requests.push_back(request);
  }
  // Room for the admission rules' worst roundings of one request, and more.
  const auto least = largest + 2 * limits.page_tokens + 2;
  const auto spare = *rc::gen::element<std::int64_t>(0, 50, 100, 200, 400);
  limits.pool_tokens = least + limits.page_tokens + *rc::gen::inRange<std::int64_t>(0, spare + 1);
  drawn.concurrency = *rc::gen::inRange<std::size_t>(1, 60);
  return drawn;
}

void check_same_steps(const Case& drawn) {
  ListClient client(drawn.requests, drawn.concurrency);
  const Recorder seen = run("sglang", drawn.limits, client);
  ReferenceSglang reference(drawn.limits, drawn.requests, drawn.concurrency);
  const std::vector<ReferenceStep> expected = reference.run();
  RC_ASSERT(reference.all_freed());
  RC_ASSERT(reference.delivered() == seen.output_tokens());
  RC_ASSERT(seen.steps.size() == expected.size());
  std::int64_t retracted = 0;
  std::int64_t recompute = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StepShape& shape = seen.steps[i].shape;
    RC_ASSERT(static_cast<std::int64_t>(shape.prefill_sequences) == expected[i].prefill_sequences);
    RC_ASSERT(static_cast<std::int64_t>(shape.prefill_tokens) == expected[i].prefill_tokens);
    RC_ASSERT(static_cast<std::int64_t>(shape.decode_sequences) == expected[i].decode_sequences);
    RC_ASSERT(static_cast<std::int64_t>(shape.decode_context_tokens) == expected[i].decode_context);
    RC_ASSERT(seen.steps[i].record.kv_used_tokens == expected[i].kv_used);
    retracted += expected[i].retracted;
    recompute += expected[i].recompute;
  }
  RC_ASSERT(seen.retracted() == retracted);
  RC_ASSERT(seen.recompute_tokens() == recompute);
  RC_TAG(retracted > 0 ? "retracts" : "no retraction");
  RC_CLASSIFY(drawn.limits.sglang.mixed_chunk && retracted > 0, "mixed and retracts");
}

}  // namespace

TEST_CASE("SGLang grouped and request by request take the same steps") {
  CHECK(rc::check("same steps", [] { check_same_steps(draw_case(40)); }));
}

TEST_CASE("SGLang grouped and request by request agree beyond the clip of 4096 tokens") {
  CHECK(rc::check("same steps, long outputs", [] {
    Case drawn = draw_case(40);
    drawn.requests.resize(std::min<std::size_t>(drawn.requests.size(), 8));
    std::int64_t longest = 0;
    for (Request& request : drawn.requests) {
      request.max_new_tokens = *rc::gen::inRange<std::int64_t>(4000, 6000);
      request.output_tokens = drawn.limits.sglang.ignore_eos
                                  ? request.max_new_tokens
                                  : *rc::gen::inRange<std::int64_t>(1, 400);
      longest = std::max(longest, request.input_tokens + request.max_new_tokens);
    }
    drawn.limits.pool_tokens = longest * *rc::gen::inRange<std::int64_t>(1, 4) + 64;
    check_same_steps(drawn);
  }));
}
