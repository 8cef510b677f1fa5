// How request and token latencies spread, for charts: counts in buckets an eighth of an octave
// wide at most, so memory does not grow with tokens. The report's quantiles (sim/report/report.h)
// are finer; these buckets only show the shape.
//
// Bucket edges are 2^e (1 + j/8) microseconds: exact in binary, the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/engine/observer.h"

namespace plateau {

struct Histogram {
  std::vector<double> edges_ms;      // one more than counts; empty: no samples
  std::vector<std::int64_t> counts;  // between the edges
};

class LatencyHistograms : public Observer {
 public:
  enum Latency : std::uint8_t { ttft, tpot, itl, e2e };  // as LatencyReport defines them
  static constexpr int kLatencies = 4;

  void on_step(const StepRecord& step) override;
  void on_request_finished(const RequestRecord& request) override;

  Histogram histogram(Latency latency) const;

 private:
  void add(Latency latency, double microseconds, std::int64_t count);

  std::array<std::map<int, std::int64_t>, kLatencies> buckets_;
};

const char* name_of(LatencyHistograms::Latency latency);

}  // namespace plateau
