// What the HTML page of a run shows beside its report: decode steps at every batch the engine can
// hold, under several routing laws, and the experts of one step.
#pragma once

#include "sim/deployment/deployment.h"
#include "sim/report/page.h"

namespace plateau {

// Slices of the time series that a page draws (RunOptions::series_points).
inline constexpr int kPageSeriesPoints = 480;

// Steps are priced, nothing is simulated. `latencies`, if given, watched the run and outlives the
// result.
PageData page_data(Deployment& deployment, const Report& report,
                   const LatencyHistograms* latencies = nullptr);

}  // namespace plateau
