#include "calibration/hf_features.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace plateau {
namespace {

struct Feature {
  const char* key;
  const char* name;
};

// Present with any value but null or false.
constexpr Feature kUnmodelled[] = {
    {"compress_ratios", "compressed attention (DeepSeek-V4)"},
    {"hc_mult", "hyper-connections between layers (DeepSeek-V4)"},
    {"num_hash_layers", "layers that route by hash (DeepSeek-V4)"},
    {"attention_chunk_size", "chunked attention (Llama 4)"},
    {"linear_attn_config", "linear attention (Kimi Linear)"},
    {"linear_num_key_heads", "linear attention (Qwen3-Next)"},
    {"linear_conv_kernel_dim", "linear attention (Qwen3-Next)"},
    {"hybrid_override_pattern", "Mamba layers"},
    {"mamba_num_heads", "Mamba layers"},
    {"mamba_d_state", "Mamba layers"},
    {"routed_expert_hidden_size", "experts in a latent space (Kimi K3)"},
    {"attention_output_gate", "gated attention output"},
    {"mla_use_output_gate", "gated attention output"},
    {"zero_expert_num", "experts without computation"},
    {"is_encoder_decoder", "an encoder beside the decoder"},
    {"add_cross_attention", "cross attention"},
};

bool is_off(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::scalar && (node.text == "false" || node.text == "0");
}

void refuse(ConfigReader& text, const char* key, const std::string& name) {
  text.complain(key, "asks for " + name + ": not modelled");
}

// Values of a per-layer list of words; nothing when absent or of the wrong length.
std::vector<std::string> per_layer(ConfigReader& text, const char* key, int layers) {
  const auto words = text.list<std::string>(key);
  if (!words || layers < 1) return {};
  if (static_cast<int>(words->size()) == layers) return *words;
  text.complain(key, "has " + std::to_string(words->size()) + " entries for " +
                         std::to_string(layers) + " layers");
  return {};
}

void refuse_block_sparse_attention(ConfigReader& text) {
  if (!text.has("sparse_attention_config")) return;
  ConfigReader sparse = text.section("sparse_attention_config");
  const ConfigNode* use = sparse.raw("use_sparse_attention");
  if (use != nullptr && is_off(*use)) return;
  refuse(text, "sparse_attention_config", "block-sparse attention (MiniMax-M3)");
}

void refuse_lightning_attention(ConfigReader& text) {
  const ConfigNode* types = text.raw("attn_type_list");
  if (types == nullptr) return;
  const bool full = std::all_of(types->children.begin(), types->children.end(),
                                [](const ConfigNode& type) { return type.text == "1"; });
  if (!full) refuse(text, "attn_type_list", "linear (lightning) attention in some layers");
}

// -1: dense layers stand behind expert layers.
int leading_dense(const std::vector<bool>& dense) {
  const auto first_sparse = std::find(dense.begin(), dense.end(), false);
  if (std::find(first_sparse, dense.end(), true) != dense.end()) return -1;
  return static_cast<int>(first_sparse - dense.begin());
}

// Which layers a list-valued key calls dense; empty when the key is absent or no list.
std::vector<bool> dense_by_list(ConfigReader& text, const char* key, const char* dense,
                                int layers) {
  const ConfigNode* node = text.raw(key);
  if (node == nullptr || node->kind != ConfigNode::Kind::list) return {};
  std::vector<bool> result;
  for (const std::string& word : per_layer(text, key, layers)) result.push_back(word == dense);
  return result;
}

std::vector<bool> dense_by_index(ConfigReader& text, const char* key, int layers) {
  const auto indices = text.list<int>(key, {0, std::max(layers - 1, 0)});
  if (!indices || indices->empty() || layers < 1) return {};
  std::vector<bool> result(static_cast<std::size_t>(layers), false);
  for (const int index : *indices) result[static_cast<std::size_t>(index)] = true;
  return result;
}

void refuse_other_than_one(ConfigReader& text, const char* key) {
  const ConfigNode* node = text.raw(key);
  if (node == nullptr || node->kind == ConfigNode::Kind::list) return;
  const auto step = text.optional<int>(key, {0, 1000000});
  if (step && *step != 1) refuse(text, key, "a dense layer between expert layers");
}

}  // namespace

void refuse_unmodelled_features(ConfigReader& text) {
  for (const Feature& feature : kUnmodelled) {
    const ConfigNode* node = text.raw(feature.key);
    if (node != nullptr && !is_off(*node)) refuse(text, feature.key, feature.name);
  }
  refuse_block_sparse_attention(text);
  refuse_lightning_attention(text);
}

int read_dense_layers(ConfigReader& text, int layers) {
  const auto first_dense = text.optional<int>("first_k_dense_replace", {0, std::max(layers, 0)});
  for (const char* key : {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"}) {
    refuse_other_than_one(text, key);
  }
  int dense = first_dense.value_or(0);
  bool stated = first_dense.has_value();
  const std::pair<const char*, std::vector<bool>> lists[] = {
      {"mlp_layer_types", dense_by_list(text, "mlp_layer_types", "dense", layers)},
      {"moe_layer_freq", dense_by_list(text, "moe_layer_freq", "0", layers)},
      {"mlp_only_layers", dense_by_index(text, "mlp_only_layers", layers)},
  };
  for (const auto& [key, list] : lists) {
    if (list.empty()) continue;
    const int leading = leading_dense(list);
    if (leading < 0) {
      refuse(text, key, "a dense layer between expert layers");
    } else if (stated && leading != dense) {
      text.complain(key, "makes " + std::to_string(leading) + " leading layers dense where " +
                             std::to_string(dense) + " are stated elsewhere");
    } else {
      dense = leading;
      stated = true;
    }
  }
  return dense;
}

WindowLayers read_window_layers(ConfigReader& text, int layers) {
  const int tokens = text.optional<int>("sliding_window", {1, 100'000'000}).value_or(0);
  const bool use = text.optional<bool>("use_sliding_window").value_or(true);
  int window_layers = tokens > 0 && use ? layers : 0;
  if (text.has("layer_types")) {
    window_layers = 0;
    for (const std::string& type : per_layer(text, "layer_types", layers)) {
      if (type == "sliding_attention") ++window_layers;
      if (type == "sliding_attention" || type == "full_attention" ||
          type == "deepseek_sparse_attention") {
        continue;
      }
      text.complain("layer_types", "layers of type `" + type + "` are not modelled");
      break;
    }
    if (window_layers > 0 && tokens == 0) text.complain("sliding_window", "is missing");
  } else if (window_layers > 0 && text.has("max_window_layers")) {
    refuse(text, "max_window_layers", "a sliding window from some layer on");
  }
  return window_layers > 0 ? WindowLayers{window_layers, tokens} : WindowLayers{};
}

}  // namespace plateau
