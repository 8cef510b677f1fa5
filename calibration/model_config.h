// Readers of model specs: Hugging Face config.json exactly as downloaded, and models/specs/*.yaml.
#pragma once

#include <string>
#include <vector>

#include "models/model_spec.h"

namespace plateau {

// `model` is a shipped spec's name ("glm-5-nvfp4", "qwen3-30b-a3b-tp2" is refused here: the caller
// strips -tpN) or a path to a config.json; a quantisation file beside it (hf_quant_config.json, or
// <stem>_hf_quant_config.json next to <stem>_config.json) is read with it. Throws InputError; an
// architecture or feature that is not modelled is named.
ModelSpec load_model(const std::string& model, const std::string& data_dir);

ModelSpec read_hf_config(const std::string& path);

std::vector<std::string> list_models(const std::string& data_dir);

}  // namespace plateau
