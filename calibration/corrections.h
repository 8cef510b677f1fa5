// What a deployment's own logs correct in a calibration profile.
//
// A correction is one number that holds for every step and every run: a factor on a group of
// prices, or a constant that replaces the profile's. None is per run, per batch or per file, so
// that what they were not fitted on remains a prediction. A correction that is not given leaves the
// profile as it is.
//
//   kernel_time         x  every operation but collectives
//   attention_time      x  operations that read the KV cache, beside kernel_time
//   collective_time     x  collectives
//   launch_time         x  every launch constant of the LaunchLaw (gaps between kernels, launches)
//   prefill_time        x  a step that computes prompts, whole, beside the others
//   host_step           s  host work per step (replaces LaunchLaw::host_step)
//   host_request        s  host work per running request (replaces LaunchLaw::host_request)
//   power_idle          W  context resident, nothing runs (replaces PowerStates::idle)
//   power_wait          W  the floor while anything runs (replaces PowerStates::wait; gaps follow)
//   power_gain          x  watts above that floor
//   unexplained_memory  B  held by an engine on each GPU beside what its pool rule knows
//                          (models/kv_pool.h); no price, so nothing of the base's
//
// An Estimate's low and high are p5 and p95 of the fitted value. Wrong when: the base's split of a
// step is wrong where the data could not tell (one batch says nothing about another's mix).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "calibration/units.h"
#include "models/op.h"

namespace plateau {

enum class Correction : std::uint8_t {
  kernel_time,
  attention_time,
  collective_time,
  launch_time,
  prefill_time,
  host_step,
  host_request,
  power_idle,
  power_wait,
  power_gain,
  unexplained_memory
};
inline constexpr std::size_t kCorrections = 11;

struct CorrectionKey {
  const char* key;
  std::optional<Dimension> dimension;  // nothing: a factor
  const char* unit;                    // "x", "s", "W", "B"
  const char* meaning;
};
const CorrectionKey& key_of(Correction correction);

class Corrections {
 public:
  std::optional<Estimate>& operator[](Correction c) { return values_[static_cast<std::size_t>(c)]; }
  const std::optional<Estimate>& operator[](Correction c) const {
    return values_[static_cast<std::size_t>(c)];
  }
  double factor(Correction c) const { return (*this)[c] ? (*this)[c]->value : 1; }

 private:
  std::array<std::optional<Estimate>, kCorrections> values_;
};

bool is_collective(Op op);
bool reads_context(Op op);  // attention cores and the indexer: time grows with the context

}  // namespace plateau
