// A profile that remembers the price of every call it was asked for.
//
// A price is a pure function of the call, and from one decode step to the next only the attention
// calls change: most of a run, and more of a sweep, asks the same questions again. A direct-mapped
// table of kSlots calls; a new call replaces the one in its slot. Prices are the wrapped profile's
// to the bit, so what is remembered never shows in a result. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <memory>

#include "calibration/profile.h"

namespace plateau {

class RememberedCosts : public Profile {
 public:
  static constexpr std::size_t kSlots = 4096;

  explicit RememberedCosts(std::shared_ptr<const Profile> profile);
  ~RememberedCosts() override;

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return profile_->device(); }
  const LaunchLaw& launch() const override { return profile_->launch(); }
  const PowerStates& power_states() const override { return profile_->power_states(); }
  const ClockLaw& clock() const override { return profile_->clock(); }
  double prefill_time() const override { return profile_->prefill_time(); }
  const Provenance& provenance() const override { return profile_->provenance(); }
  const std::vector<std::string>& warnings() const override { return profile_->warnings(); }
  double board_band() const override { return profile_->board_band(); }
  std::optional<Estimate> unexplained_memory() const override {
    return profile_->unexplained_memory();
  }
  const std::shared_ptr<const Profile>& wrapped() const { return profile_; }

 private:
  struct Slot;

  std::shared_ptr<const Profile> profile_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace plateau
