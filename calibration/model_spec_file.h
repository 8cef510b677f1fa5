// models/specs/<name>.yaml: a shipped model spec.
//
//   source: zai-org/GLM-5 config.json     required: where the numbers come from
//   base: glm-5                            another spec of the folder; this one overrides its keys
//   layers: 78                             counts and widths named as in models/model_spec.h
//   max_context: 202752 tokens
//   attention: {kind: gqa | mla | mla_dsa, query_heads: 64, ...}
//   weights: {all: bf16, routed_experts: nvfp4, ...}   `all` sets the linear layers; not embedding,
//                                                      router and head
// What follows from other keys may be left out: v_head_dim (= head_dim), kv_heads and head_dim of
// MLA, indexer_layers (= layers), shared_intermediate (= shared_experts * moe_intermediate).
#pragma once

#include <string>

#include "calibration/config_node.h"
#include "models/model_spec.h"

namespace plateau {

// Throws InputError.
ModelSpec read_model_spec_file(const std::string& folder, const std::string& name);

// One document over `base` (the spec it starts from, with has_base).
ModelSpec model_of_spec_tree(const ConfigNode& tree, const std::string& name, const ModelSpec& base,
                             bool has_base);

}  // namespace plateau
