// One scenario, simulated: the whole of `plateau run` and `plateau step` but their command lines.
#pragma once

#include <vector>

#include "sim/deployment/deployment.h"
#include "sim/engine/observer.h"
#include "sim/report/report.h"

namespace plateau {

struct RunOptions {
  int series_points = 0;             // slices of the time series in the report; 0: none
  std::vector<Observer*> observers;  // beside the report's own
};

Report run(Deployment& deployment, const RunOptions& options = {});

// One decode step of `batch` requests at `context` tokens each.
StepReport decode_step(Deployment& deployment, int batch, int context);

// A batch whose prompts of `tokens` each are computed in one prefill step.
StepReport prefill_step(Deployment& deployment, int sequences, int tokens);

}  // namespace plateau
