#include "models/device_spec.h"

namespace plateau {

double DeviceSpec::peak_flops(DType dtype) const {
  switch (dtype) {
    case DType::fp8:
    case DType::fp8_block:
    case DType::int8:
      return fp8_flops > 0 ? fp8_flops : bf16_flops;
    case DType::nvfp4:
    case DType::mxfp4:
      return fp4_flops > 0 ? fp4_flops : bf16_flops;
    case DType::fp32:
    case DType::bf16:
    case DType::int4:  // weight-only: unpacked to bf16 before the multiply
      return bf16_flops;
  }
  return bf16_flops;
}

}  // namespace plateau
