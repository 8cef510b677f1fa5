// A profile made of one engine's own measurements: every operation of its step timed on its own, at
// many shapes.
//
// Times come from kernels.csv through OpSurfaces (exact at measured shapes);
// collectives from collectives.csv along the tensor's bytes; watts from MeasuredPower and, for
// collectives, from their own column. Operations of the step that were measured inside another one
// (sampling inside lm_head_argmax) cost nothing here. What was not measured is refused, except
// small element-wise kernels, which run at the copy rate and say `assumed`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibration/measured_power.h"
#include "calibration/op_surfaces.h"
#include "calibration/profile.h"
#include "calibration/profile_meta.h"

namespace plateau {

class MeasuredProfile : public Profile {
 public:
  MeasuredProfile(ProfileMeta meta, const ProfileOptions& options, const std::string& folder);

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return meta_.device; }
  const LaunchLaw& launch() const override { return meta_.launch; }
  const PowerStates& power_states() const override { return meta_.power_states; }
  const ClockLaw& clock() const override { return meta_.clock; }
  const Provenance& provenance() const override { return meta_.provenance; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  double board_band() const override { return gain_band_; }

  const MeasuredPower& power() const { return power_; }

 private:
  struct CollectivePoint {
    double bytes = 0;
    double seconds = 0;
    double watts = 0;
  };

  void read_kernels(const std::string& folder, const ProfileOptions& options);
  void fill_from(const ProfileOptions& options);
  void read_collectives(const std::string& folder, const ProfileOptions& options);
  void meter_between();
  void wake_link();
  double floor_of(Op op) const;
  OpCost collective(const OpCall& call) const;
  OpCost elementwise(const OpCall& call) const;
  OpCost flash_attention(const OpCall& call) const;
  Estimate watts(double dynamic, double relative_gain, double misfit) const;
  Estimate watts_of(const OpCall& call, double seconds) const;
  Estimate looped(const OpCall& call, Estimate seconds) const;

  ProfileMeta meta_;
  std::vector<std::string> warnings_;
  std::map<Op, OpSurfaces> surfaces_;
  std::map<Op, double> floors_;
  MeasuredPower power_;
  struct Throttled {
    double flops_per_s = 0;  // least rate at which this operation's loop was held back
    double clock = 1;        // lowest clock of such a row over the largest
  };
  std::map<Op, Throttled> throttled_;
  double gain_ = 1;       // of the board predicted for, relative to the profile's own
  double gain_band_ = 0;  // relative uncertainty of watts
  int measured_ranks_ = 0;
  double collective_gain_ = 1;
  std::vector<CollectivePoint> all_reduce_;
};

}  // namespace plateau
