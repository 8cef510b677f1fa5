// A profile made of laws fitted to published kernel tables (laws.csv), collective curves
// (curves.csv) and the constants of meta.yaml.
//
// How an operation is priced
//   gemm, lm_head, moe_experts, attention, mla_*, indexer   FittedLaw of the same key. When the
//   type or
//       geometry has no law, the nearest one's utilisation is held and the answer is extrapolated:
//       a sibling storage type, the next head width, any geometry's experts, dense latent attention
//       for sparse. Never faster than its weights or KV can be read from memory (streamed_bytes
//       over weight_stream): the tables' loops find small weights in the L2 cache, a served model
//       does not.
//   moe_dispatch   the router GEMM's law + one small kernel for top-k; sort and gather are inside
//   the
//       expert tables
//   moe_combine    nothing: the expert tables end with the weighted sum
//   all_reduce, all_gather   curves
//   norms, rope, residual, activation, embedding, sampling, and an indexer without a table assumed:
//       small_kernel * kernels + bytes over 0.8 of the memory's peak; a residual add is fused into
//       the norm that follows it and costs its bytes only
// Watts: PowerLaw of meta.yaml; a collective draws the wait power, spinning while it moves bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/collective_curves.h"
#include "calibration/fitted_law.h"
#include "calibration/profile.h"
#include "calibration/profile_meta.h"

namespace plateau {

class FittedProfile : public Profile {
 public:
  // Throws InputError when the options ask for what the profile cannot know.
  FittedProfile(ProfileMeta meta, const ProfileOptions& options, std::vector<FittedLaw> laws,
                CollectiveCurves curves);

  OpCost cost(const OpCall& call) const override;
  const DeviceSpec& device() const override { return meta_.device; }
  const LaunchLaw& launch() const override { return meta_.launch; }
  const PowerStates& power_states() const override { return meta_.power_states; }
  const ClockLaw& clock() const override { return meta_.clock; }
  const Provenance& provenance() const override { return meta_.provenance; }
  const std::vector<std::string>& warnings() const override { return warnings_; }

  const std::vector<FittedLaw>& laws() const { return laws_; }

 private:
  Estimate seconds(const OpCall& call) const;
  Estimate by_law(const OpCall& call) const;
  Estimate collective(const OpCall& call) const;
  Estimate elementwise(const OpCall& call) const;
  Estimate kv_bandwidth(const OpCall& call) const;
  Estimate watts(const OpCall& call, double seconds) const;

  const FittedLaw* find(const LawKey& key) const;
  const FittedLaw* find_geometry(const LawKey& key) const;
  const FittedLaw* nearest_head_dim(const LawKey& key) const;

  ProfileMeta meta_;
  std::vector<FittedLaw> laws_;  // sorted by key
  CollectiveCurves curves_;
  std::vector<std::string> warnings_;
  Interconnect interconnect_;
  bool kv_bandwidth_ = false;
  double gain_ = 1;
  bool unknown_board_ = false;
};

// Reads laws.csv and curves.csv of the folder.
std::unique_ptr<Profile> load_fitted_profile(ProfileMeta meta, const ProfileOptions& options,
                                             const std::string& folder);

}  // namespace plateau
