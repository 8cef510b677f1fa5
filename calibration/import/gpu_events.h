// Kernels and copies of a trace, one row each, and the share of GPU time by kind of kernel.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "calibration/import/kernel_class.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

class ClassShares {
 public:
  KernelClass add(std::string_view name, double time);
  // Derived values gpu_time_share.<class>; a warning when too much has no class.
  void finish(Recorder& recorder) const;

 private:
  std::map<std::string, KernelClass, std::less<>> known_;
  std::array<double, kKernelClasses> time_{};
};

}  // namespace plateau::imports
