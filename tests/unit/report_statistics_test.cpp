#include <doctest/doctest.h>

#include <cmath>

#include "sim/report/statistics.h"

using namespace plateau;
using namespace std::chrono_literals;

TEST_CASE("distribution: quantiles of 1..10 and the upper median") {
  Distribution d;
  for (int i = 10; i >= 1; --i) d.add(i);
  CHECK(d.count() == 10);
  CHECK(*d.mean() == doctest::Approx(5.5));
  CHECK(*d.variance() == doctest::Approx(8.25));  // (n^2 - 1) / 12
  CHECK(*d.quantile(500) == 6);                   // upper median
  CHECK(*d.quantile(899) == 9);
  CHECK(*d.quantile(900) == 10);
  CHECK(*d.quantile(990) == 10);
  CHECK(*d.quantile(0) == 1);
  CHECK(*d.max() == 10);
}

TEST_CASE("distribution: an empty one has no figures, not zeros") {
  const Distribution d;
  CHECK_FALSE(d.mean());
  CHECK_FALSE(d.quantile(500));
  const Spread spread = d.spread();
  CHECK(spread.count == 0);
  CHECK_FALSE(spread.p99);
}

TEST_CASE("distribution: a weight is that many samples, a weight below 1 none") {
  Distribution d;
  d.add(1, 98);
  d.add(7, 1);
  d.add(9, 1);
  d.add(1000, 0);
  d.add(1000, -5);
  CHECK(d.count() == 100);
  CHECK(*d.mean() == doctest::Approx((98.0 + 7 + 9) / 100));
  CHECK(*d.quantile(979) == 1);
  CHECK(*d.quantile(980) == 7);  // rank 98 is the 99th sample
  CHECK(*d.quantile(990) == 9);
}

TEST_CASE("distribution: runs of equal samples are stored once and stay exact") {
  Distribution d(4);
  for (int i = 0; i < 1000; ++i) d.add(3.5);
  for (int i = 0; i < 1000; ++i) d.add(4.5);
  CHECK(d.exact());
  CHECK(*d.quantile(499) == 3.5);
  CHECK(*d.quantile(500) == 4.5);
}

TEST_CASE("distribution: buckets keep the stated relative error and the exact mean") {
  Distribution exact;
  Distribution bucketed(10);
  for (int i = 1; i <= 20000; ++i) {
    const double value = 1e-3 * std::pow(1.001, i % 9973) * (1 + i % 7);
    exact.add(value);
    bucketed.add(value);
  }
  CHECK(exact.exact());
  CHECK_FALSE(bucketed.exact());
  for (const int permille : {0, 10, 250, 500, 900, 990, 999}) {
    const double truth = *exact.quantile(permille);
    CHECK(std::abs(*bucketed.quantile(permille) / truth - 1) <= Distribution::kBucketError);
  }
  CHECK(*bucketed.mean() == doctest::Approx(*exact.mean()).epsilon(1e-12));
}

TEST_CASE("distribution: zeros survive the move into buckets") {
  Distribution d(2);
  d.add(0, 60);
  for (int i = 1; i <= 40; ++i) d.add(i);
  CHECK_FALSE(d.exact());
  CHECK(*d.quantile(500) == 0);
  CHECK(*d.quantile(600) == doctest::Approx(1).epsilon(0.005));
}

TEST_CASE("power meter: trails a step of power by its window") {
  PowerMeter meter(0);
  meter.add(500ms, 50);  // 100 W
  CHECK(*meter.readings().max() == doctest::Approx(50));
  meter.add(500ms, 50);
  CHECK(*meter.readings().max() == doctest::Approx(100));
  meter.add(500ms, 150);  // 300 W
  CHECK(*meter.readings().max() == doctest::Approx(200));
  meter.add(700ms, 210);
  CHECK(*meter.readings().max() == doctest::Approx(300));
  CHECK(meter.readings().count() == 22);
  CHECK(meter.last() == doctest::Approx(300));
}

TEST_CASE("power meter: before the run the board drew its idle watts") {
  PowerMeter meter(40);
  meter.add(100ms, 14);  // 140 W
  CHECK(*meter.readings().max() == doctest::Approx(0.9 * 40 + 0.1 * 140));
}

TEST_CASE("power meter: a run shorter than one poll still has a reading") {
  PowerMeter meter(40);
  meter.add(50ms, 7);  // 140 W
  CHECK(meter.readings().count() == 0);
  CHECK(meter.last() == doctest::Approx(0.95 * 40 + 0.05 * 140));
}

TEST_CASE("time series: slices stay bounded and lose nothing") {
  TimeSeries series(8);
  double joules = 0;
  double tokens = 0;
  SimTime total{};
  for (int i = 1; i <= 1000; ++i) {
    const SimTime length = std::chrono::microseconds(700 + 13 * (i % 17));
    series.add(length, {2, 1, 64}, i, 3);
    joules += i;
    tokens += 3;
    total += length;
  }
  const auto points = series.points();
  CHECK(points.size() <= 8);
  CHECK(points.size() >= 4);
  double j = 0;
  double t = 0;
  double s = 0;
  for (const SeriesPoint& point : points) {
    CHECK(point.running == doctest::Approx(2));
    CHECK(point.queued == doctest::Approx(1));
    CHECK(point.kv_used_tokens == doctest::Approx(64));
    j += point.gpu_w * point.seconds;
    t += point.output_tok_per_s * point.seconds;
    s += point.seconds;
  }
  CHECK(j == doctest::Approx(joules).epsilon(1e-12));
  CHECK(t == doctest::Approx(tokens).epsilon(1e-12));
  CHECK(s == doctest::Approx(to_seconds(total)).epsilon(1e-12));
}

TEST_CASE("time series: none when none was asked for") {
  TimeSeries series(0);
  series.add(1s, {1, 1, 1}, 1, 1);
  CHECK(series.points().empty());
}
