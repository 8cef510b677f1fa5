#include "calibration/hf_quantization.h"

#include <optional>
#include <string>
#include <vector>

#include "calibration/module_pattern.h"

namespace plateau {
namespace {

// One statement "these linear layers have that type, except ...".
struct Quantization {
  std::optional<DType> type;
  const char* exceptions = "";  // key of the list
  bool experts_only = false;
  bool head_too = false;  // unless the list leaves it out
};

bool is_128_square(const std::vector<int>& block) {
  return block.size() == 2 && block[0] == 128 && block[1] == 128;
}

std::optional<DType> block_fp8(ConfigReader& reader, const char* key) {
  const auto block = reader.list<int>(key);
  if (!block) return DType::fp8;
  if (is_128_square(*block)) return DType::fp8_block;
  reader.complain(key, "FP8 scales in blocks other than 128 x 128 are not modelled");
  return std::nullopt;
}

std::optional<DType> modelopt_type(ConfigReader& reader) {
  const auto algorithm = reader.optional<std::string>("quant_algo");
  if (!algorithm) {
    reader.complain("quant_algo", "is missing", "NVFP4, FP8 or FP8_PB_WO");
    return std::nullopt;
  }
  if (*algorithm == "FP8") return DType::fp8;
  if (*algorithm == "FP8_PB_WO") return DType::fp8_block;
  if (*algorithm == "NVFP4") {
    const auto group = reader.optional<int>("group_size");
    if (!group || *group == 16) return DType::nvfp4;
    reader.complain("group_size", "NVFP4 with groups other than 16 is not modelled");
    return std::nullopt;
  }
  reader.complain("quant_algo", "quantisation `" + *algorithm + "` is not modelled",
                  "NVFP4, FP8 and FP8_PB_WO are");
  return std::nullopt;
}

std::optional<DType> group_type(ConfigReader weights) {
  const int bits = weights.required<int>("num_bits", {1, 64});
  const std::string type = weights.optional<std::string>("type").value_or("int");
  const int group = weights.optional<int>("group_size").value_or(0);
  const std::string strategy = weights.optional<std::string>("strategy").value_or("");
  if (type == "int" && bits == 8) return DType::int8;
  if (type == "int" && bits == 4 && group == 32) return DType::int4;
  if (type == "float" && bits == 4 && group == 16) return DType::nvfp4;
  if (type == "float" && bits == 4 && group == 32) return DType::mxfp4;
  if (type == "float" && bits == 8) {
    return strategy == "block" ? block_fp8(weights, "block_structure") : DType::fp8;
  }
  weights.complain("num_bits",
                   "weights of " + std::to_string(bits) + " bit (" + type + ") in groups of " +
                       std::to_string(group) + " are not modelled",
                   "int 4 in groups of 32, int 8, float 8, float 4 in groups of 16 or 32 are");
  return std::nullopt;
}

std::optional<DType> compressed_tensors_type(ConfigReader& reader) {
  const ConfigNode* node = reader.raw("config_groups");
  if (node == nullptr || node->kind != ConfigNode::Kind::map || node->keys.empty()) {
    reader.complain("config_groups", "is missing: it says how weights are stored");
    return std::nullopt;
  }
  ConfigReader groups = reader.section("config_groups");
  std::optional<DType> type;
  for (const std::string& key : node->keys) {
    ConfigReader group = groups.section(key);
    const auto targets = group.list<std::string>("targets");
    if (!targets || *targets != std::vector<std::string>{"Linear"}) {
      group.complain("targets", "weights are modelled when all linear layers are the target",
                     "[\"Linear\"] with exceptions in `ignore`");
    }
    const auto group_weights = group_type(group.section("weights"));
    if (type && group_weights && *type != *group_weights) {
      groups.complain(key, "several types in one checkpoint's linear layers are not modelled");
    }
    if (group_weights) type = group_weights;
  }
  return type;
}

Quantization quantization_of(ConfigReader& reader) {
  const auto method = reader.optional<std::string>("quant_method");
  if (!method) {
    reader.complain("quant_method", "is missing");
    return {};
  }
  if (*method == "fp8") return {block_fp8(reader, "weight_block_size"), "modules_to_not_convert"};
  if (*method == "mxfp4") return {DType::mxfp4, "modules_to_not_convert", true};
  if (*method == "compressed-tensors") {
    return {compressed_tensors_type(reader), "ignore", false, true};
  }
  if (method->substr(0, 8) == "modelopt") {
    const char* exceptions = reader.has("exclude_modules") ? "exclude_modules" : "ignore";
    return {modelopt_type(reader), exceptions, false, true};
  }
  reader.complain("quant_method", "quantisation method `" + *method + "` is not modelled",
                  "fp8, modelopt, compressed-tensors and mxfp4 are");
  return {};
}

// Looks kinds of modules up in the list of exceptions.
class ModuleTypes {
 public:
  ModuleTypes(ConfigReader& reader, const Quantization& quantization, const HfModuleNames& names,
              ModelSpec* spec)
      : reader_(reader), quantization_(quantization), names_(names), spec_(spec) {
    const auto exceptions = reader.list<std::string>(quantization.exceptions);
    if (!exceptions) return;
    for (std::size_t i = 0; i < exceptions->size(); ++i) {
      const std::string problem = patterns_.add((*exceptions)[i]);
      if (problem.empty()) continue;
      reader.complain(quantization.exceptions, "entry " + std::to_string(i + 1) + " " + problem);
    }
  }

  void assign() {
    WeightTypes& weights = spec_->weights;
    const std::string experts = std::string(names_.moe) + ".experts.0.";
    const bool numbered = names_.numbered_experts;
    const std::vector<std::string> mlp{"gate_proj", "up_proj", "down_proj"};
    const std::vector<std::string> expert{"w1", "w2", "w3"};
    set(weights.routed_experts, "routed experts", moe_layers(), experts, numbered ? expert : mlp);
    if (quantization_.experts_only) return;
    if (spec_->shared_experts > 0) {
      set(weights.shared_experts, "shared experts", moe_layers(), "mlp.shared_experts.", mlp);
    }
    set(weights.dense_mlp, "dense MLP", {0, spec_->dense_layers}, "mlp.", mlp);
    set(weights.attention, "attention projections", {0, spec_->layers}, "self_attn.",
        projections());
    DType output = DType::bf16;
    set(output, "attention output projection", {0, spec_->layers}, "self_attn.", {"o_proj"});
    if (output != weights.attention) weights.attention_output = output;
    if (quantization_.head_too && !patterns_.match("lm_head"))
      weights.lm_head = *quantization_.type;
  }

 private:
  struct Layers {
    int first;
    int end;
  };

  Layers moe_layers() const { return {spec_->dense_layers, spec_->layers}; }

  std::vector<std::string> projections() const {
    if (spec_->attention.kind == AttentionKind::gqa) return {"q_proj", "k_proj", "v_proj"};
    if (spec_->attention.q_lora_rank == 0) return {"q_proj", "kv_a_proj_with_mqa", "kv_b_proj"};
    return {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"};
  }

  void set(DType& type, const char* kind, Layers layers, const std::string& prefix,
           const std::vector<std::string>& modules) {
    int total = 0;
    int quantised = 0;
    for (int layer = layers.first; layer < layers.end; ++layer) {
      for (const std::string& module : modules) {
        ++total;
        const std::string name = "model.layers." + std::to_string(layer) + "." + prefix + module;
        if (!patterns_.match(name)) ++quantised;
      }
    }
    if (quantised > 0 && quantised < total) {
      reader_.complain(quantization_.exceptions, "leaves out " + std::to_string(total - quantised) +
                                                     " of the " + std::to_string(total) +
                                                     " modules of the " + kind +
                                                     ": one type per kind of module is modelled");
    }
    if (quantised > 0) type = *quantization_.type;
  }

  ConfigReader& reader_;
  const Quantization& quantization_;
  const HfModuleNames& names_;
  ModelSpec* spec_;
  ModulePatterns patterns_;
};

void read_kv_algorithm(ConfigReader& reader, ModelSpec* spec) {
  const auto algorithm = reader.optional<std::string>("kv_cache_quant_algo");
  if (!algorithm) return;
  if (*algorithm == "FP8") {
    spec->kv_dtype = DType::fp8;
  } else if (*algorithm == "NVFP4") {
    spec->kv_dtype = DType::nvfp4;
  } else {
    reader.complain("kv_cache_quant_algo", "KV cache type `" + *algorithm + "` is not modelled");
  }
}

void read_kv_scheme(ConfigReader& reader, ModelSpec* spec) {
  if (!reader.has("kv_cache_scheme")) return;
  ConfigReader scheme = reader.section("kv_cache_scheme");
  const int bits = scheme.required<int>("num_bits", {1, 64});
  const std::string type = scheme.optional<std::string>("type").value_or("");
  if (bits == 8 && type == "float") {
    spec->kv_dtype = DType::fp8;
  } else if (bits == 4 && type == "float") {
    spec->kv_dtype = DType::nvfp4;
  } else {
    scheme.complain("num_bits", "this KV cache type is not modelled", "float of 8 or 4 bit is");
  }
}

}  // namespace

void read_quantization_config(ConfigReader reader, const HfModuleNames& names, ModelSpec* spec) {
  const Quantization quantization = quantization_of(reader);
  read_kv_algorithm(reader, spec);
  read_kv_scheme(reader, spec);
  if (quantization.type) ModuleTypes(reader, quantization, names, spec).assign();
}

void read_hf_quant_file(ConfigReader file, const HfModuleNames& names, ModelSpec* spec) {
  if (!file.has("quantization")) file.complain("quantization", "is missing");
  ConfigReader reader = file.section("quantization");
  const Quantization quantization{modelopt_type(reader), "exclude_modules", false, true};
  read_kv_algorithm(reader, spec);
  if (quantization.type) ModuleTypes(reader, quantization, names, spec).assign();
}

}  // namespace plateau
