// Which operation of a step a GPU kernel belongs to, by its name. First rule that fits, in the
// order of KernelClass; names are those of the libraries in use (2025-26), so a new library's
// kernels may fall to `other`: the share of time without a class is reported, and above 10 % a
// trace is no basis to calibrate.
#pragma once

#include <cstdint>
#include <string_view>

namespace plateau::imports {

enum class KernelClass : std::uint8_t {
  comm,
  moe_gemm,
  moe_route,
  attention,
  dense_gemm,
  quant,
  norm,
  rope,
  sampling,
  elementwise,
  memory,  // copies and fills
  other
};
inline constexpr int kKernelClasses = 12;

const char* name_of(KernelClass kernel_class);
KernelClass class_of_kernel(std::string_view name);

}  // namespace plateau::imports
