#include "models/model_spec.h"

namespace plateau {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return "fp32";
    case DType::bf16:
      return "bf16";
    case DType::fp8:
      return "fp8";
    case DType::fp8_block:
      return "fp8_block";
    case DType::int8:
      return "int8";
    case DType::int4:
      return "int4";
    case DType::nvfp4:
      return "nvfp4";
    case DType::mxfp4:
      return "mxfp4";
  }
  return "?";
}

double bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::fp32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::fp8:
    case DType::int8:
      return 1;
    case DType::fp8_block:
      return 1 + 4.0 / (128 * 128);
    case DType::int4:
      return 0.5 + 2.0 / 32;
    case DType::nvfp4:
      return 0.5 + 1.0 / 16;
    case DType::mxfp4:
      return 0.5 + 1.0 / 32;
  }
  return 0;
}

const char* name_of(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::gqa:
      return "gqa";
    case AttentionKind::mla:
      return "mla";
    case AttentionKind::mla_dsa:
      return "mla_dsa";
  }
  return "?";
}

}  // namespace plateau
