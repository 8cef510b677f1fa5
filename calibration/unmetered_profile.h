// A profile whose board nobody metered: its times, and watts of models/power_fallback.h.
//
// Watts follow what an operation achieves of the copy and GEMM rates; collectives draw the wait
// power. Warns, with its band of 20 %. Its own device is left out of the boards that the law is
// made of, so that `calibration.power: limit` on a metered board tells how far the law misses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/profile.h"
#include "models/power_fallback.h"

namespace plateau {

class UnmeteredProfile : public Profile {
 public:
  UnmeteredProfile(std::unique_ptr<Profile> times, std::optional<double> idle_w);

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return times_->device(); }
  const LaunchLaw& launch() const override { return times_->launch(); }
  const PowerStates& power_states() const override { return power_.states; }
  const ClockLaw& clock() const override { return times_->clock(); }
  double prefill_time() const override { return times_->prefill_time(); }
  const Provenance& provenance() const override { return times_->provenance(); }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  double board_band() const override { return PowerFallback::kBand; }

 private:
  std::unique_ptr<Profile> times_;
  PowerFallback power_;
  std::vector<std::string> warnings_;
};

}  // namespace plateau
