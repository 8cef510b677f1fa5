#include "sim/report/statistics.h"

#include <algorithm>
#include <boost/accumulators/accumulators.hpp>
#include <boost/accumulators/statistics/max.hpp>
#include <boost/accumulators/statistics/stats.hpp>
#include <boost/accumulators/statistics/weighted_mean.hpp>
#include <boost/accumulators/statistics/weighted_variance.hpp>
#include <cmath>

namespace plateau {

namespace acc = boost::accumulators;

namespace {

struct Sample {
  double value = 0;
  std::int64_t weight = 0;
};

// Linear sub-buckets inside each power of two: found by frexp, so the same on every machine (log()
// is not). Half a bucket is 1/256 of the octave's lower end / 2 = 0.39 % of the value at worst.
constexpr int kBucketsPerOctave = 128;
constexpr int kLowestExponent = -64;
constexpr int kOctaves = 128;

std::size_t bucket_of(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  const int octave = std::clamp(exponent - kLowestExponent, 0, kOctaves - 1);
  const auto part = static_cast<int>((mantissa - 0.5) * 2 * kBucketsPerOctave);
  return static_cast<std::size_t>(octave * kBucketsPerOctave + part);
}

double middle_of(std::size_t bucket) {
  const int octave = static_cast<int>(bucket) / kBucketsPerOctave;
  const int part = static_cast<int>(bucket) % kBucketsPerOctave;
  return std::ldexp(0.5 + (part + 0.5) / (2 * kBucketsPerOctave), octave + kLowestExponent);
}

}  // namespace

struct Distribution::State {
  acc::accumulator_set<
      double, acc::stats<acc::tag::weighted_mean, acc::tag::weighted_variance, acc::tag::max>,
      double>
      moments;
  std::size_t exact_samples = 0;
  std::int64_t count = 0;
  std::vector<Sample> samples;
  bool sorted = true;
  std::vector<std::int64_t> buckets;  // empty while exact
  std::int64_t zeros = 0;

  void into_bucket(const Sample& sample) {
    if (sample.value > 0) {
      buckets[bucket_of(sample.value)] += sample.weight;
    } else {
      zeros += sample.weight;
    }
  }

  void leave_exactness() {
    buckets.assign(static_cast<std::size_t>(kOctaves) * kBucketsPerOctave, 0);
    for (const Sample& sample : samples) into_bucket(sample);
    samples = {};
  }

  void sort() {
    if (sorted) return;
    std::sort(samples.begin(), samples.end(),
              [](const Sample& a, const Sample& b) { return a.value < b.value; });
    sorted = true;
  }

  double exact_at(std::int64_t rank) {  // 0-based, counting weights
    sort();
    for (const Sample& sample : samples) {
      rank -= sample.weight;
      if (rank < 0) return sample.value;
    }
    return samples.back().value;
  }

  double bucketed_at(std::int64_t rank) const {
    rank -= zeros;
    if (rank < 0) return 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      rank -= buckets[i];
      if (rank < 0) return middle_of(i);
    }
    return acc::max(moments);
  }
};

Distribution::Distribution(std::size_t exact_samples) : state_(std::make_unique<State>()) {
  state_->exact_samples = exact_samples;
}
Distribution::Distribution(Distribution&&) noexcept = default;
Distribution& Distribution::operator=(Distribution&&) noexcept = default;
Distribution::~Distribution() = default;

void Distribution::add(double value, std::int64_t weight) {
  if (weight < 1) return;
  State& state = *state_;
  state.moments(value, acc::weight = static_cast<double>(weight));
  state.count += weight;
  if (!state.buckets.empty()) {
    state.into_bucket({value, weight});
    return;
  }
  if (!state.samples.empty() && state.samples.back().value == value) {
    state.samples.back().weight += weight;
    return;
  }
  state.sorted = state.samples.empty() || (state.sorted && state.samples.back().value < value);
  state.samples.push_back({value, weight});
  if (state.samples.size() > state.exact_samples) state.leave_exactness();
}

void Distribution::add_all(const Distribution& other) {
  const State& from = *other.state_;
  for (const Sample& sample : from.samples) add(sample.value, sample.weight);
  add(0, from.zeros);
  for (std::size_t i = 0; i < from.buckets.size(); ++i) add(middle_of(i), from.buckets[i]);
}

std::int64_t Distribution::count() const { return state_->count; }
bool Distribution::exact() const { return state_->buckets.empty(); }

std::optional<double> Distribution::mean() const {
  if (count() == 0) return std::nullopt;
  return acc::weighted_mean(state_->moments);
}

std::optional<double> Distribution::variance() const {
  if (count() == 0) return std::nullopt;
  return acc::weighted_variance(state_->moments);
}

std::optional<double> Distribution::max() const {
  if (count() == 0) return std::nullopt;
  return acc::max(state_->moments);
}

std::optional<double> Distribution::quantile(int permille) const {
  if (count() == 0) return std::nullopt;
  const std::int64_t rank =
      std::min(count() / 1000 * permille + count() % 1000 * permille / 1000, count() - 1);
  return exact() ? state_->exact_at(rank) : state_->bucketed_at(rank);
}

Spread Distribution::spread() const {
  return {count(), mean(), quantile(500), quantile(900), quantile(990), quantile(950)};
}

PowerMeter::PowerMeter(double watts_before) : watts_(watts_before) {
  for (int i = 0; i <= kWindowPeriods; ++i) {
    history_[static_cast<std::size_t>(i)] =
        -watts_before * to_seconds(kPeriod) * (kWindowPeriods - i);
  }
}

void PowerMeter::add(SimTime length, double joules) {
  if (length <= SimTime{}) {
    joules_ += joules;
    return;
  }
  watts_ = joules / to_seconds(length);
  const SimTime end = now_ + length;
  for (; next_poll_ <= end; next_poll_ += kPeriod) {
    const double energy = joules_ + watts_ * to_seconds(next_poll_ - now_);
    readings_.add(
        std::max(0.0, (energy - at(kWindowPeriods - 1)) / to_seconds(kPeriod * kWindowPeriods)));
    history_[static_cast<std::size_t>(oldest_)] = energy;
    oldest_ = (oldest_ + 1) % (kWindowPeriods + 1);
  }
  joules_ += joules;
  now_ = end;
}

double PowerMeter::at(int periods_ago) const {  // 0: the last poll
  return history_[static_cast<std::size_t>((oldest_ + kWindowPeriods - periods_ago) %
                                           (kWindowPeriods + 1))];
}

double PowerMeter::last() const {
  const double since = to_seconds(now_ - (next_poll_ - kPeriod)) / to_seconds(kPeriod);
  const double then = at(kWindowPeriods) + (at(kWindowPeriods - 1) - at(kWindowPeriods)) * since;
  return (joules_ - then) / to_seconds(kPeriod * kWindowPeriods);
}

TimeSeries::TimeSeries(int max_points)
    : max_points_(static_cast<std::size_t>(std::max(0, max_points))) {
  max_points_ += max_points_ % 2;
}

void TimeSeries::widen() {
  width_ *= 2;
  const std::size_t half = (slices_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    Slice sum = slices_[2 * i];
    if (2 * i + 1 < slices_.size()) {
      const Slice& next = slices_[2 * i + 1];
      sum.seconds += next.seconds;
      sum.running += next.running;
      sum.queued += next.queued;
      sum.kv_used_tokens += next.kv_used_tokens;
      sum.joules += next.joules;
      sum.tokens += next.tokens;
    }
    slices_[i] = sum;
  }
  slices_.resize(half);
}

void TimeSeries::add(SimTime length, const Levels& levels, double joules, double tokens) {
  if (max_points_ == 0 || length <= SimTime{}) return;
  const SimTime end = now_ + length;
  while (width_ * static_cast<std::int64_t>(max_points_) < end) widen();
  for (SimTime from = now_; from < end;) {
    const auto index = static_cast<std::size_t>(from / width_);
    const SimTime to = std::min(end, width_ * static_cast<std::int64_t>(index + 1));
    if (index >= slices_.size()) slices_.resize(index + 1);
    Slice& slice = slices_[index];
    const double seconds = to_seconds(to - from);
    const double part = seconds / to_seconds(length);
    slice.seconds += seconds;
    slice.running += levels.running * seconds;
    slice.queued += levels.queued * seconds;
    slice.kv_used_tokens += levels.kv_used_tokens * seconds;
    slice.joules += joules * part;
    slice.tokens += tokens * part;
    from = to;
  }
  now_ = end;
}

void TimeSeries::add_replica(const TimeSeries& other) {
  TimeSeries from = other;
  while (width_ < from.width_) widen();
  while (from.width_ < width_) from.widen();
  if (slices_.size() < from.slices_.size()) slices_.resize(from.slices_.size());
  for (std::size_t i = 0; i < from.slices_.size(); ++i) {
    Slice& slice = slices_[i];
    const Slice& more = from.slices_[i];
    slice.seconds = std::max(slice.seconds, more.seconds);
    slice.running += more.running;
    slice.queued += more.queued;
    slice.kv_used_tokens += more.kv_used_tokens;
    slice.joules += more.joules;
    slice.tokens += more.tokens;
  }
  now_ = std::max(now_, from.now_);
}

std::vector<SeriesPoint> TimeSeries::points(int replicas) const {
  std::vector<SeriesPoint> points;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = slices_[i];
    if (slice.seconds <= 0) continue;
    points.push_back({to_seconds(width_ * static_cast<std::int64_t>(i)), slice.seconds,
                      slice.running / slice.seconds, slice.queued / slice.seconds,
                      slice.kv_used_tokens / slice.seconds,
                      slice.joules / (slice.seconds * replicas), slice.tokens / slice.seconds});
  }
  return points;
}

}  // namespace plateau
