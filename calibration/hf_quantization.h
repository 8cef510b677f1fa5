// What a Hugging Face checkpoint says about the storage of its weights and KV cache.
//
// Read are `quantization_config` of config.json (quant_method fp8, modelopt, compressed-tensors,
// mxfp4) and the separate hf_quant_config.json of ModelOpt. Both name a type for linear layers and
// a list of modules left unquantised; every kind of module is looked up in that list, layer by
// layer. A kind that is quantised in some layers only is refused: a ModelSpec holds one type per
// kind. Embedding, norms and router are never quantised by these methods; the head is when a
// ModelOpt or compressed-tensors list does not leave it out.
#pragma once

#include "calibration/config_reader.h"
#include "models/model_spec.h"

namespace plateau {

// How a family of checkpoints names its modules.
struct HfModuleNames {
  const char* moe = "mlp";        // model.layers.N.<moe>.experts.E.<projections>
  bool numbered_experts = false;  // w1, w2, w3 instead of gate_proj, down_proj, up_proj
};

// Both fill spec->weights and spec->kv_dtype; the shape of *spec must be complete. What cannot be
// read is complained of to the reader.
void read_quantization_config(ConfigReader quantization, const HfModuleNames& names,
                              ModelSpec* spec);
void read_hf_quant_file(ConfigReader file, const HfModuleNames& names, ModelSpec* spec);

}  // namespace plateau
