// The verdict on an open loop's queue, on runs that can be judged by hand.
#include <doctest/doctest.h>

#include "sim/report/load_text.h"
#include "sim/report/saturation.h"

using namespace plateau;
using namespace std::chrono_literals;
using Verdict = SaturationReport::Verdict;

TEST_CASE("saturation: requests that end as they come leave nothing behind") {
  Backlog backlog;
  for (int i = 0; i < 1000; ++i) backlog.add_request(i * 100ms, i * 100ms + 50ms);
  const SaturationReport report = backlog.report();
  CHECK(report.verdict == Verdict::stable);
  CHECK_FALSE(report.grows());
  CHECK(report.arrivals_per_s == doctest::Approx(10).epsilon(0.01));
  CHECK(report.completions_per_s == doctest::Approx(10).epsilon(0.01));
  CHECK(*report.growth_per_s == doctest::Approx(0).scale(1).epsilon(0.05));
}

TEST_CASE("saturation: ten a second against eight, waiting") {
  Backlog backlog;
  for (int i = 0; i < 1000; ++i) {
    const SimTime sent = i * 100ms;
    const SimTime start = i * 125ms;
    backlog.add_request(sent, start + 125ms);
    backlog.add_waiting(start, start - sent, 1);
  }
  const SaturationReport report = backlog.report();
  CHECK(report.verdict == Verdict::saturated);
  CHECK(report.arrivals_per_s == doctest::Approx(10).epsilon(0.01));
  CHECK(report.completions_per_s == doctest::Approx(8).epsilon(0.01));
  CHECK(*report.growth_per_s == doctest::Approx(2).epsilon(0.03));
  CHECK(report.backlog_end - report.backlog_middle == doctest::Approx(100).epsilon(0.03));
  CHECK(*report.growth_per_s_low > 0);
  CHECK(growth_text(report).find("the queue grows without bound") != std::string::npos);
}

TEST_CASE("saturation: long requests that all run are a load that builds up, not a queue") {
  Backlog backlog;
  for (int i = 0; i < 1000; ++i) backlog.add_request(i * 100ms, i * 100ms + 300s);
  const SaturationReport report = backlog.report();
  CHECK(report.verdict == Verdict::rising);
  CHECK(report.completions_per_s == 0);
  CHECK(growth_text(report).find("still building up") != std::string::npos);
}

TEST_CASE("saturation: too few arrivals, or all at once, say nothing") {
  Backlog few;
  for (int i = 0; i < 10; ++i) few.add_request(i * 1s, i * 1s + 100s);
  CHECK(few.report().verdict == Verdict::unknown);
  Backlog burst;
  for (int i = 0; i < 1000; ++i) burst.add_request(0s, i * 1s);
  CHECK(burst.report().verdict == Verdict::unknown);
  CHECK(Backlog().report().verdict == Verdict::unknown);
}

TEST_CASE("saturation: a long run folds its slices and keeps its verdict") {
  for (const bool overloaded : {false, true}) {
    Backlog backlog;
    const SimTime service = overloaded ? 1250ms : 500ms;
    SimTime free_at{};
    for (int i = 0; i < 20000; ++i) {
      const SimTime sent = i * 1s;
      const SimTime start = std::max(sent, free_at);
      free_at = start + service;
      backlog.add_request(sent, free_at);
      backlog.add_waiting(start, start - sent, 1);
    }
    const SaturationReport report = backlog.report();
    CHECK(report.verdict == (overloaded ? Verdict::saturated : Verdict::stable));
    CHECK(report.arrivals_per_s == doctest::Approx(1).epsilon(0.01));
  }
}
