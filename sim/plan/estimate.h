// What a point will do, from a handful of priced steps instead of a run: good enough to say which
// points are worth a run.
//
// Requests come in waves of n = min(load, running cap, requests that the pool holds):
//   wave(n) = output * decode(n, input + output / 2) + ceil(n * input / chunk) * prefill(chunk)
//   T       = floor(R / n) * wave(n) + wave(R mod n)
// and watts, latencies and the number of steps follow from the same terms. An open loop below
// capacity runs n = rate * lifetime(n), found by iteration. Wrong by 1-10 % where waves drift
// apart, admission is look-ahead or requests are retracted; the search (sim/plan/search.h) learns
// the ratio of runs to estimates.
#pragma once

#include <string>

#include "sim/deployment/deployment.h"
#include "sim/plan/goal.h"
#include "sim/plan/priced_steps.h"

namespace plateau {

struct PointEstimate {
  bool ok = false;
  std::string reason;
  Metrics metrics;   // NaN where there is no estimate
  double steps = 0;  // that a run would simulate
  int priced = 0;    // steps priced for this that no other estimate had asked for
};

// `pricing`: PricedSteps::pricing_of this point.
PointEstimate estimate(Deployment& deployment, PricedSteps& prices, const std::string& pricing);

double memory_of(const Deployment& deployment);  // weights and KV pool of one GPU, bytes

}  // namespace plateau
