// Is each scheduler a lawful one? One suite over every engine, page size and policy.
#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>

#include "tests/support/serving.h"

using namespace plateau;
using namespace plateau::testing;

namespace {

struct Variant {
  std::string engine;
  std::string name;
  std::function<void(EngineLimits&)> change;
};

// A new engine of the table is tried as it is; its policies get a line each.
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const SchedulerEntry& entry : schedulers()) {
    all.push_back({entry.name, "default", [](EngineLimits&) {}});
    all.push_back({entry.name, "no graphs", [](EngineLimits& l) { l.capture_sizes.clear(); }});
    all.push_back({entry.name, "no chunk limit", [](EngineLimits& l) { l.chunk_tokens = -1; }});
    all.push_back({entry.name, "few", [](EngineLimits& l) { l.max_running = 3; }});
    all.push_back({entry.name, "one", [](EngineLimits& l) { l.max_running = 1; }});
  }
  const auto over_admit = [](EngineLimits& l) {
    l.sglang.radix_cache = true;
    l.sglang.schedule_conservativeness = 0.01;
  };
  all.push_back({"sglang", "ratio", [](EngineLimits& l) { l.sglang.radix_cache = true; }});
  all.push_back({"sglang", "over-admission", over_admit});
  all.push_back({"sglang", "over-admission, no overlap", [=](EngineLimits& l) {
                   over_admit(l);
                   l.sglang.overlap = false;
                 }});
  all.push_back({"sglang", "over-admission, mixed chunk", [=](EngineLimits& l) {
                   over_admit(l);
                   l.sglang.mixed_chunk = true;
                 }});
  all.push_back({"sglang", "mixed chunk", [](EngineLimits& l) { l.sglang.mixed_chunk = true; }});
  all.push_back(
      {"sglang", "later rules", [](EngineLimits& l) { l.sglang.rules = SglangRules::jul_2026; }});
  all.push_back({"sglang", "no overlap", [](EngineLimits& l) { l.sglang.overlap = false; }});
  all.push_back({"sglang", "continuous decode", [](EngineLimits& l) {
                   l.num_continuous_decode_steps = 7;
                   l.sglang.honour_continuous_decode_steps = true;
                 }});
  all.push_back(
      {"simple", "current need", [](EngineLimits& l) { l.simple.reserve_output = false; }});
  all.push_back({"simple", "textbook", [](EngineLimits& l) {
                   l.simple.reserve_output = false;
                   l.simple.prefill_emits_token = false;
                 }});
  all.push_back(
      {"simple", "continuous decode", [](EngineLimits& l) { l.num_continuous_decode_steps = 7; }});
  return all;
}

EngineLimits base_limits(int page) {
  EngineLimits limits;
  limits.page_tokens = page;
  limits.pool_tokens = 3000;
  limits.max_running = 64;
  limits.chunk_tokens = 256;
  limits.capture_sizes = {1, 2, 4, 8, 16, 32};
  return limits;
}

WorkloadConfig workload(int concurrency, LengthConfig::Law law) {
  WorkloadConfig work = closed_loop(concurrency, 300, 150, 90);
  work.input.law = work.output.law = law;
  return work;
}

void check_lawful(const Recorder& seen, const EngineLimits& limits, const WorkloadConfig& work) {
  // Every request ends once, with exactly what it asked for.
  const RequestLengths lengths(work, 1);
  REQUIRE(static_cast<std::int64_t>(seen.requests.size()) == work.requests);
  std::set<std::int64_t> ended;
  std::int64_t prompts = 0;
  std::int64_t outputs = 0;
  std::int64_t streamed_ns = 0;
  std::int64_t retractions = 0;
  bool ordered = true;
  bool as_asked = true;
  for (const RequestRecord& record : seen.requests) {
    const Request asked = lengths.request(record.id, record.sent);
    ended.insert(record.id);
    as_asked = as_asked && record.output_tokens == asked.output_tokens &&
               record.input_tokens == asked.input_tokens;
    ordered = ordered && record.sent <= record.first_token && record.first_token <= record.finished;
    prompts += record.input_tokens;
    outputs += record.output_tokens;
    streamed_ns += (record.finished - record.first_token).count();
    retractions += record.retractions;
  }
  CHECK(static_cast<std::int64_t>(ended.size()) == work.requests);
  CHECK(as_asked);
  CHECK(ordered);
  CHECK(retractions == seen.retracted());

  // No token is lost or doubled: each is its request's first or ends a gap, and gaps telescope.
  std::int64_t first = 0;
  std::int64_t gaps = 0;
  std::int64_t gap_ns = 0;
  for (const SeenStep& step : seen.steps) {
    first += step.record.new_requests;
    for (const TokenGap& gap : step.gaps) {
      gaps += gap.count;
      gap_ns += gap.count * gap.gap.count();
    }
  }
  CHECK(seen.output_tokens() == outputs);
  CHECK(first == work.requests);
  CHECK(gaps == outputs - first);
  CHECK(gap_ns == streamed_ns);
  CHECK(seen.prefill_tokens() == static_cast<double>(prompts + seen.recompute_tokens()));

  // KV stays inside the pool; time is tiled by steps, host gaps and idle time; shapes make sense.
  bool inside = true;
  bool tiled = true;
  bool capped = true;
  bool padded = true;
  SimTime end{};
  for (const SeenStep& step : seen.steps) {
    inside = inside && step.record.kv_used_tokens <= limits.pool_tokens &&
             step.shape.decode_context_tokens <= static_cast<double>(step.record.kv_used_tokens);
    tiled = tiled && step.record.start - end == step.record.idle + step.record.host_gap &&
            step.record.idle >= SimTime{} && step.record.host_gap >= SimTime{};
    end = step.record.end;
    capped = capped && step.record.running <= limits.max_running;
    const double batch = step.shape.decode_sequences;
    const bool graph = batch > 0 && !step.prefill() && !limits.capture_sizes.empty() &&
                       batch <= limits.capture_sizes.back();
    padded = padded && step.shape.graph == graph &&
             (graph ? step.shape.decode_padded >= batch : step.shape.decode_padded == batch);
  }
  CHECK(inside);
  CHECK(tiled);
  CHECK(capped);
  CHECK(padded);
  CHECK(seen.end <= end);
}

}  // namespace

TEST_CASE("every scheduler serves every request and keeps its books") {
  FakeTimer timer([](const StepShape& shape) {
    return 1e-3 + 1e-6 * shape.tokens() + 1e-8 * shape.decode_context_tokens;
  });
  for (const Variant& variant : variants()) {
    for (const int page : {1, 7, 16, 64}) {
      for (const int concurrency : {1, 50, 400}) {
        for (const auto law : {LengthConfig::Law::fixed, LengthConfig::Law::sglang_uniform}) {
          CAPTURE(variant.engine);
          CAPTURE(variant.name);
          CAPTURE(page);
          CAPTURE(concurrency);
          EngineLimits limits = base_limits(page);
          variant.change(limits);
          const WorkloadConfig work = workload(concurrency, law);
          const HostLaw host{2e-4, 1e-5};
          check_lawful(run(variant.engine, limits, work, timer, host), limits, work);
        }
      }
    }
  }
}

TEST_CASE("over-admitting variants do retract here, so the suite above sees retractions") {
  for (const bool mixed : {false, true}) {
    EngineLimits limits = base_limits(16);
    limits.sglang.radix_cache = true;
    limits.sglang.schedule_conservativeness = 0.01;
    limits.sglang.mixed_chunk = mixed;
    const auto work = workload(50, LengthConfig::Law::sglang_uniform);
    CHECK(run("sglang", limits, work).retracted() > 0);
  }
  EngineLimits limits = base_limits(16);
  limits.simple.reserve_output = false;
  CHECK(run("simple", limits, workload(50, LengthConfig::Law::sglang_uniform)).retracted() > 0);
}

TEST_CASE("every scheduler gives the same run twice") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.engine);
    CAPTURE(variant.name);
    EngineLimits limits = base_limits(16);
    variant.change(limits);
    const auto work = workload(50, LengthConfig::Law::sglang_uniform);
    const Recorder a = run(variant.engine, limits, work);
    const Recorder b = run(variant.engine, limits, work);
    CHECK(a.end == b.end);
    CHECK(a.steps.size() == b.steps.size());
    CHECK(a.recompute_tokens() == b.recompute_tokens());
  }
}

TEST_CASE("every scheduler knows the smallest pool for a request, and refuses below it") {
  for (const Variant& variant : variants()) {
    for (const int page : {1, 16}) {
      CAPTURE(variant.engine);
      CAPTURE(variant.name);
      CAPTURE(page);
      EngineLimits limits = base_limits(page);
      variant.change(limits);
      const WorkloadConfig work = closed_loop(5, 12, 100, 50);
      const auto fits = [&](std::int64_t pool) {
        limits.pool_tokens = pool;
        return make_scheduler(variant.engine, limits)->fits_alone(100, 50);
      };
      std::int64_t pool = page;
      while (!fits(pool)) pool += page;
      CHECK(pool >= 150);
      CHECK(pool <= 150 + 3 * page + 2);
      CHECK(run(variant.engine, limits, work).requests.size() == 12);  // just fits
      if (pool > page) {
        limits.pool_tokens = pool - page;
        CHECK_THROWS_AS(run(variant.engine, limits, work), InternalError);
      }
    }
  }
}
