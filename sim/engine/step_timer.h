// The seam between simulated time and its price: what one engine step costs. sim/deployment.h
// implements it from a scenario and its calibration profile; tests of the schedulers fake it.
#pragma once

#include "models/step_cost.h"

namespace plateau {

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  // Valid until the next call. Pure: the same shape always costs the same.
  virtual const StepCost& cost(const StepShape& shape) = 0;
};

}  // namespace plateau
