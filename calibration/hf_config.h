// From the tree of a Hugging Face config.json to a ModelSpec.
//
// Supported families: the architectures listed in hf_config.cpp, plain or as the `text_config` of a
// multimodal wrapper (whose other towers are not part of the served cost). Every other architecture
// is refused: keys of the same name mean different things in different families.
#pragma once

#include <string>

#include "calibration/config_node.h"
#include "models/model_spec.h"

namespace plateau {

// `quantization` is the tree of the hf_quant_config.json beside it, nullptr without one; it counts
// only when config.json itself has no quantization_config. Throws InputError.
ModelSpec model_of_hf_config(const ConfigNode& config, const ConfigNode* quantization,
                             const std::string& name);

}  // namespace plateau
