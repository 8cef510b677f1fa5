// Goodput: what of the throughput kept the latency limits of the scenario.
//
// A request is good when its own TTFT, TPOT and end-to-end time are each within the limit of that
// name, the loosest one where several percentiles of it are limited; a request of one token has no
// TPOT to miss. Goodput = good requests, and their output tokens, per second of the run; requests
// of ramp-up and drain count like the others. ITL is kept per token, not per request, so an ITL
// limit does not make a request bad: its share is of the gaps between tokens.
//
// Apart from that each limit is judged as it is written: ttft_p99 by the 99th percentile of all
// requests, tpot_mean by the mean. `met` says that all of them hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/observer.h"
#include "sim/report/report.h"
#include "sim/scenario/scenario.h"

namespace plateau {

class Distribution;

class Goodput {
 public:
  explicit Goodput(std::vector<LatencyLimit> limits);
  void add(const RequestRecord& request);
  void add_gap(double ms, std::int64_t count);

  // Distributions by LatencyLimit::Metric. Nothing without limits.
  std::optional<GoodputReport> report(const std::vector<const Distribution*>& measured,
                                      double seconds, bool saturated) const;

 private:
  struct Count {
    std::int64_t within = 0;
    std::int64_t all = 0;
  };
  bool count(std::size_t limit, double value, std::int64_t weight);

  std::vector<LatencyLimit> limits_;
  std::vector<Count> counts_;
  std::vector<bool> loosest_;  // of its metric: decides about the request
  std::int64_t requests_ = 0;
  std::int64_t good_requests_ = 0;
  std::int64_t good_tokens_ = 0;
};

}  // namespace plateau
