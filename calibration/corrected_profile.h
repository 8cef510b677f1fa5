// A profile on top of another one: the base's prices under the corrections that a deployment's own
// logs gave (calibration/corrections.h).
//
//   t' = factor t of each operation           P' = wait' + gain (P - wait)
//
// Sources stay the base's: a corrected price is no better known operation by operation, only in
// sum. meta.yaml of such a profile:
//
//   kind: corrected
//   base: h200-sxm/torch-2.11-bf16        a profile, or ./folder seen from this file
//   base_digest: 0f3a...                  of the base's meta and tables when this was fitted
//   corrections: {kernel_time: {value: 1.04, error: 0.01, samples: 12}, host_step: {value: 350 us,
//     error: 20 us, samples: 12}, unexplained_memory: {value: 3.79 GiB, ...}, ...}
//                                         error: one standard error
//   provenance: {source, licence, date, engine, tool}
//   fit, held, measured                   for people: how well, what the data could not tell, lines
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/corrections.h"
#include "calibration/profile.h"

namespace plateau {

struct CorrectedMeta {
  std::string base;
  std::string base_digest;
  Corrections corrections;
  Provenance provenance;  // the base's tables are added when loaded
};

// Watts of an operation when the floor moves from `floor` to `new_floor` and what is above it is
// multiplied. Below the floor the share of it is kept.
double corrected_watts(double watts, double floor, double new_floor, double gain);

bool is_corrected_profile(const std::string& folder);
// Reads <folder>/meta.yaml. Throws InputError.
CorrectedMeta read_corrected_meta(const std::string& folder, const std::string& profile_name);

// Of a loaded profile: its tables' digests and its meta.yaml.
std::string digest_of_profile(const Profile& profile, const std::string& folder);

class CorrectedProfile : public Profile {
 public:
  CorrectedProfile(std::shared_ptr<const Profile> base, const Corrections& corrections,
                   Provenance provenance, std::vector<std::string> warnings);

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return base_->device(); }
  const LaunchLaw& launch() const override { return launch_; }
  const PowerStates& power_states() const override { return power_; }
  const ClockLaw& clock() const override { return base_->clock(); }
  double prefill_time() const override { return prefill_time_; }
  std::optional<Estimate> unexplained_memory() const override;
  const Provenance& provenance() const override { return provenance_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  Estimate watts(const Estimate& base) const;

  std::shared_ptr<const Profile> base_;
  Corrections corrections_;
  LaunchLaw launch_;
  PowerStates power_;
  double prefill_time_ = 1;
  Provenance provenance_;
  std::vector<std::string> warnings_;
};

}  // namespace plateau
