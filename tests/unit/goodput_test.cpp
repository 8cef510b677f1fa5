// Goodput and latency limits on requests that can be counted by hand.
#include <doctest/doctest.h>

#include "sim/report/goodput.h"
#include "sim/report/statistics.h"

using namespace plateau;
using namespace std::chrono_literals;
using Metric = LatencyLimit::Metric;

namespace {

RequestRecord request(SimTime ttft, SimTime decode, std::int64_t output) {
  RequestRecord record;
  record.sent = 1s;
  record.first_token = 1s + ttft;
  record.finished = record.first_token + decode;
  record.output_tokens = output;
  return record;
}

struct Judged {
  Distribution ttft, tpot, itl, e2e;
  Goodput goodput;
  explicit Judged(std::vector<LatencyLimit> limits) : goodput(std::move(limits)) {}
  void add(const RequestRecord& r) {
    goodput.add(r);
    ttft.add(to_seconds(r.first_token - r.sent) * 1e3);
    e2e.add(to_seconds(r.finished - r.sent) * 1e3);
    if (r.output_tokens > 1)
      tpot.add(to_seconds(r.finished - r.first_token) * 1e3 /
               static_cast<double>(r.output_tokens - 1));
  }
  std::optional<GoodputReport> report(bool grows = false) {
    return goodput.report({&ttft, &tpot, &itl, &e2e}, 10.0, grows);
  }
};

}  // namespace

TEST_CASE("goodput: a request is good when it keeps every limit, the ends included") {
  Judged run({{"ttft", Metric::ttft, 990, 500}, {"tpot_mean", Metric::tpot, std::nullopt, 50}});
  run.add(request(500ms, 500ms, 11));  // both just kept
  run.add(request(501ms, 500ms, 11));  // late first token
  run.add(request(100ms, 501ms, 11));  // slow
  run.add(request(100ms, 0ms, 1));     // one token: no TPOT to miss
  const GoodputReport report = *run.report();
  CHECK(report.requests == 2);
  CHECK(report.requests_share == 0.5);
  CHECK(report.requests_per_s == 0.2);
  CHECK(report.output_tok_per_s == 1.2);
  CHECK(*report.limits[0].share_within == 0.75);
  CHECK(*report.limits[1].share_within == doctest::Approx(2.0 / 3));
  CHECK(*report.limits[0].measured_ms == doctest::Approx(501));
  CHECK_FALSE(report.limits[0].met);
  CHECK(*report.limits[1].measured_ms == doctest::Approx((50 + 50 + 50.1) / 3));
  CHECK_FALSE(report.met);
}

TEST_CASE("goodput: of several limits on one latency the loosest decides about a request") {
  Judged run({{"e2e_p50", Metric::e2e, 500, 100}, {"e2e_p99", Metric::e2e, 990, 1000}});
  run.add(request(10ms, 40ms, 3));
  run.add(request(10ms, 40ms, 3));
  run.add(request(10ms, 900ms, 3));
  const GoodputReport report = *run.report();
  CHECK(report.requests == 3);
  CHECK(report.met);
  CHECK(*report.limits[0].share_within == doctest::Approx(2.0 / 3));
}

TEST_CASE("goodput: gaps between tokens are judged over tokens, not requests") {
  Judged run({{"itl_p90", Metric::itl, 900, 20}});
  run.add(request(10ms, 40ms, 3));
  for (const auto& [ms, count] : {std::pair<double, int>{10.0, 95}, {90.0, 5}}) {
    run.goodput.add_gap(ms, count);
    run.itl.add(ms, count);
  }
  const GoodputReport report = *run.report();
  CHECK(report.requests == 1);
  CHECK(*report.limits[0].share_within == doctest::Approx(0.95));
  CHECK(report.met);
}

TEST_CASE("goodput: limits are not met while the queue grows, and nothing is said without limits") {
  Judged run({{"ttft", Metric::ttft, 990, 500}});
  run.add(request(100ms, 500ms, 11));
  CHECK(run.report()->met);
  CHECK_FALSE(run.report(true)->met);
  CHECK(run.report(true)->limits[0].met);
  CHECK_FALSE(Judged({}).report());
}
