#include "sim/report/latency_histograms.h"

#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

constexpr int kPerOctave = 8;

double microseconds_of(SimTime time) { return static_cast<double>(time.count()) / 1e3; }

// Linear within an octave; what is below 1 us shares the first bucket.
int bucket_of(double microseconds) {
  if (microseconds < 1) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(microseconds, &exponent);  // [0.5, 1)
  return (exponent - 1) * kPerOctave + static_cast<int>((mantissa - 0.5) * 2 * kPerOctave);
}

double edge_ms(int bucket) {
  return std::ldexp(1.0 + static_cast<double>(bucket % kPerOctave) / kPerOctave,
                    bucket / kPerOctave) /
         1e3;
}

}  // namespace

const char* name_of(LatencyHistograms::Latency latency) {
  static constexpr const char* kNames[] = {"ttft", "tpot", "itl", "e2e"};
  return kNames[latency];
}

void LatencyHistograms::add(Latency latency, double microseconds, std::int64_t count) {
  buckets_[latency][bucket_of(microseconds)] += count;
}

void LatencyHistograms::on_step(const StepRecord& step) {
  if (step.gaps == nullptr) return;
  for (const TokenGap& gap : *step.gaps) add(itl, microseconds_of(gap.gap), gap.count);
}

void LatencyHistograms::on_request_finished(const RequestRecord& request) {
  add(ttft, microseconds_of(request.first_token - request.sent), 1);
  add(e2e, microseconds_of(request.finished - request.sent), 1);
  if (request.output_tokens < 2) return;
  add(tpot,
      microseconds_of(request.finished - request.first_token) /
          static_cast<double>(request.output_tokens - 1),
      1);
}

Histogram LatencyHistograms::histogram(Latency latency) const {
  const auto& buckets = buckets_[latency];
  Histogram histogram;
  if (buckets.empty()) return histogram;
  const int first = buckets.begin()->first;
  const int last = buckets.rbegin()->first;
  for (int bucket = first; bucket <= last; ++bucket) {
    histogram.edges_ms.push_back(edge_ms(bucket));
    const auto found = buckets.find(bucket);
    histogram.counts.push_back(found == buckets.end() ? 0 : found->second);
  }
  histogram.edges_ms.push_back(edge_ms(last + 1));
  return histogram;
}

}  // namespace plateau
