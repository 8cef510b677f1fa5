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

std::vector<SpecProblem> spec_problems(const ModelSpec& spec) {
  const AttentionSpec& a = spec.attention;
  std::vector<SpecProblem> problems;
  const auto require = [&problems](bool holds, const char* field, std::string message) {
    if (!holds) problems.push_back({field, std::move(message)});
  };
  require(spec.dense_layers <= spec.layers, "dense_layers", "is more than the layers");
  require(spec.dense_layers == 0 || spec.dense_intermediate > 0, "dense_intermediate",
          "is missing, yet some layers are dense");
  require(spec.top_k <= spec.experts, "top_k", "is more than the experts");
  require(spec.router_groups < 1 || spec.experts % spec.router_groups == 0, "router_groups",
          "does not divide the experts");
  require(a.kind != AttentionKind::gqa || a.kv_heads < 1 || a.query_heads % a.kv_heads == 0,
          "kv_heads", "does not divide the query heads");
  require(a.window_layers <= spec.layers, "window_layers", "is more than the layers");
  require(a.indexer_layers <= spec.layers, "indexer_layers", "is more than the layers");
  return problems;
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
