#include "calibration/import/gpu_events.h"

#include <cmath>

namespace plateau::imports {
namespace {

constexpr double kMostUnclassed = 0.1;
constexpr std::size_t kRemembered = 20000;

}  // namespace

KernelClass ClassShares::add(std::string_view name, double time) {
  auto found = known_.find(name);
  if (found == known_.end()) {
    if (known_.size() >= kRemembered) known_.clear();
    found = known_.emplace(std::string(name), class_of_kernel(name)).first;
  }
  if (std::isfinite(time) && time > 0) time_[static_cast<std::size_t>(found->second)] += time;
  return found->second;
}

void ClassShares::finish(Recorder& recorder) const {
  double total = 0;
  for (const double time : time_) total += time;
  if (total <= 0) return;
  for (int i = 0; i < kKernelClasses; ++i) {
    const double share = time_[static_cast<std::size_t>(i)] / total;
    if (share == 0) continue;
    recorder.derive({std::string("gpu_time_share.") + name_of(static_cast<KernelClass>(i)), share,
                     std::nullopt, std::nullopt, "time of the kernels by their names"});
  }
  const double other = time_[static_cast<std::size_t>(KernelClass::other)] / total;
  if (other <= kMostUnclassed) return;
  recorder.warn(0, "kernels of no known class take " + std::to_string(std::lround(other * 100)) +
                       " % of the GPU time: above 10 % this is no basis to calibrate from");
}

}  // namespace plateau::imports
