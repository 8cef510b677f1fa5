// A scenario bound to its calibration: what `plateau run` and `plateau step` simulate.
//
//   Scenario + Profile + ExpertRouting -> Deployment (prices steps) -> Simulation -> Report
//
// A Deployment is cheap once its profile and routing are loaded; a sweep shares them between points
// (LoadedCalibration).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "calibration/power_curve.h"
#include "calibration/profile.h"
#include "models/routing.h"
#include "models/what_if.h"
#include "sim/deployment/engine_limits.h"
#include "sim/deployment/workload.h"
#include "sim/engine/step_timer.h"
#include "sim/report/report.h"
#include "sim/scenario/scenario.h"

namespace plateau {

class Deployment : public StepTimer {
 public:
  // Loads the profile named by the scenario from data_dir. Throws InputError.
  Deployment(const Scenario& scenario, const std::string& data_dir);
  // Shares what is already loaded; the caller has checked that it is what the scenario asks for.
  Deployment(const Scenario& scenario, std::shared_ptr<const Profile> profile,
             const ExpertRouting& routing);
  // Shares the routing too, with what it remembers of batches seen before: for one thread.
  Deployment(const Scenario& scenario, std::shared_ptr<const Profile> profile,
             std::shared_ptr<ExpertRouting> routing);

  const StepCost& cost(const StepShape& shape) override;
  // Every operation of a step with its price, at full clock.
  std::vector<OpLine> price(const StepShape& shape);
  // The step at full clock with its experts filled as told: what a cost would be but for one cause.
  StepCost cost_if(const StepShape& shape, const ExpertLoad& load) const;
  // How full the experts are when `tokens` enter a layer, the scenario's what-ifs included.
  ExpertLoad expert_load(double tokens);
  // Decode step of `batch` requests that hold `context` tokens each; padded and captured as the
  // engine would.
  StepShape decode_shape(double batch, double context) const;

  const Scenario& scenario() const { return scenario_; }
  const ResolvedEngine& engine() const { return engine_; }
  const Workload& workload() const { return workload_; }
  const Profile& profile() const { return *profile_; }
  ExpertRouting& routing() { return *routing_; }
  const KernelCosts& costs() const { return costs_; }  // the profile under the scenario's what-ifs
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void check_clock();
  double prefill_time(const StepShape& shape) const;
  void wait_for_late_rank();
  void keep_limit();  // at the clock that was asked for, or a lower one that the limit leaves

  Scenario scenario_;
  std::shared_ptr<const Profile> profile_;
  WhatIfCosts costs_;
  std::shared_ptr<ExpertRouting> routing_;
  ResolvedEngine engine_;
  Workload workload_;
  Placement placement_;
  double power_limit_w_ = 0;               // in force
  std::optional<PowerCurve> power_curve_;  // calibration.power_runs
  StepCost cost_;
  std::vector<std::string> warnings_;
};

ProfileOptions profile_options(const Scenario& scenario, const std::string& data_dir);
std::shared_ptr<const Profile> load_profile_of(const Scenario& scenario,
                                               const std::string& data_dir);
ExpertRouting make_routing(const Scenario& scenario);
// The scenario with the profile's unexplained memory, unless it names its own.
Scenario with_profile_memory(Scenario scenario, const Profile& profile);

}  // namespace plateau
