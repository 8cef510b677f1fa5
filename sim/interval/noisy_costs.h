// A profile whose tables are wrong by as much as they may be: one replica of what the same
// calibration could have said.
//
//   value' = value * (high / value)^(z / 1.645)   z >= 0        z ~ N(0, 1), one for the time and
//   value' = value * (low  / value)^(-z / 1.645)  z <  0        one for the watts of each kind of
//                                                               operation and each replica
//
// low and high of an Estimate are taken as p5 and p95, hence 1.645; a symmetric band is a
// log-normal factor. All calls of one kind move together, because the error of a table is shared by
// its rows; kinds are independent, and so are the constants of the launch law and the power states.
// Of the watts' bands the part that all share, how well the board is known (Profile::board_band),
// has one z of its own; the rest of each band, in quadrature, is the kind's.
// The factor depends on (seed, kind, replica) alone: two options priced by the same profile are
// wrong in the same way, so that their difference is less noisy than each of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "calibration/profile.h"

namespace plateau {

class NoisyCosts : public Profile {
 public:
  NoisyCosts(std::shared_ptr<const Profile> profile, std::uint64_t seed, std::uint32_t replica);

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return profile_->device(); }
  const LaunchLaw& launch() const override { return launch_; }
  const PowerStates& power_states() const override { return power_; }
  const ClockLaw& clock() const override { return profile_->clock(); }
  double prefill_time() const override { return profile_->prefill_time(); }
  const Provenance& provenance() const override { return profile_->provenance(); }
  const std::vector<std::string>& warnings() const override { return profile_->warnings(); }
  double board_band() const override { return profile_->board_band(); }
  std::optional<Estimate> unexplained_memory() const override {
    return profile_->unexplained_memory();
  }

 private:
  static constexpr std::size_t kOps = static_cast<std::size_t>(Op::sampling) + 1;

  std::shared_ptr<const Profile> profile_;
  LaunchLaw launch_;
  PowerStates power_;
  std::array<double, kOps> time_z_{};
  std::array<double, kOps> watts_z_{};
  double board_z_ = 0;
};

// The estimate at z standard deviations of its band.
Estimate shifted(const Estimate& estimate, double z);

}  // namespace plateau
