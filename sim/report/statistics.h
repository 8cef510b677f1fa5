// The three collectors a report is made of. Their memory does not grow with tokens.
//
// Distribution: mean, variance and quantiles of weighted samples. Quantiles are exact (sorted
// samples, equal neighbours stored once) up to kExactSamples stored entries; beyond that samples
// move into logarithmic buckets, 128 to the octave, and a quantile is off by at most kBucketError
// of its value. A streaming estimator such as P2 was not used: it misses the median by 10 % when a
// run changes regime, which is what runs into a KV wall do.
//
// PowerMeter: what a driver's power reading shows. NVML's power on GPUs since Ampere (but GA100) is
// a trailing average over 1 s; a reader polls it. Watts inside one step are taken as constant,
// which is exact for a meter when steps are short beside 1 s or repeat within it. Before the run
// the board draws `watts_before`.
//
// TimeSeries: means over equal slices of the run. Slices double in width whenever their number
// would exceed the bound, so memory is bounded and no slice is lost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/sim_time.h"
#include "sim/report/report.h"

namespace plateau {

class Distribution {
 public:
  static constexpr std::size_t kExactSamples = 1'000'000;
  static constexpr double kBucketError = 0.005;

  explicit Distribution(std::size_t exact_samples = kExactSamples);
  Distribution(Distribution&&) noexcept;
  Distribution& operator=(Distribution&&) noexcept;
  ~Distribution();

  void add(double value, std::int64_t weight = 1);  // value >= 0; a weight below 1 is no sample
  void add_all(const Distribution& other);          // as exact as the other is

  std::int64_t count() const;
  std::optional<double> mean() const;
  std::optional<double> variance() const;  // of the population
  std::optional<double> max() const;
  // The smallest sample with more than permille/1000 of all samples at or below it: 500 is the
  // upper median.
  std::optional<double> quantile(int permille) const;
  bool exact() const;
  Spread spread() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class PowerMeter {
 public:
  static constexpr SimTime kPeriod = std::chrono::milliseconds(100);
  static constexpr int kWindowPeriods = 10;  // 1 s

  explicit PowerMeter(double watts_before);
  void add(SimTime length, double joules);  // the next stretch of time, at constant watts
  void add_readings(const PowerMeter& other) { readings_.add_all(other.readings_); }
  const Distribution& readings() const { return readings_; }
  double last() const;  // the reading at the end of the last stretch, between two polls
  double joules() const { return joules_; }

 private:
  double at(int periods_ago) const;

  SimTime now_{};
  SimTime next_poll_ = kPeriod;
  double joules_ = 0;
  double watts_ = 0;                                  // of the last stretch
  std::array<double, kWindowPeriods + 1> history_{};  // joules at the last polls, a ring
  int oldest_ = 0;
  Distribution readings_;
};

class TimeSeries {
 public:
  struct Levels {
    double running = 0;
    double queued = 0;
    double kv_used_tokens = 0;
  };

  explicit TimeSeries(int max_points);  // even; 0: collect nothing
  void add(SimTime length, const Levels& levels, double joules, double tokens);
  // Of another replica over the same time: levels and tokens add up, watts stay those of one GPU on
  // average over all `replicas`, this one included.
  void add_replica(const TimeSeries& other);
  std::vector<SeriesPoint> points(int replicas = 1) const;

 private:
  struct Slice {
    double seconds = 0;
    double running = 0;  // integrals over time
    double queued = 0;
    double kv_used_tokens = 0;
    double joules = 0;
    double tokens = 0;
  };
  void widen();

  std::size_t max_points_;
  SimTime width_ = std::chrono::milliseconds(1);
  SimTime now_{};
  std::vector<Slice> slices_;
};

}  // namespace plateau
