#include "calibration/hf_config.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "calibration/config_reader.h"
#include "calibration/hf_features.h"
#include "calibration/hf_quantization.h"

namespace plateau {
namespace {

struct Family {
  const char* architecture;
  const char* model_type;  // of a text_config that names no architecture
  AttentionKind attention;
  const char* experts;       // key: number of routed experts
  const char* expert_width;  // key: intermediate size of one expert
  HfModuleNames modules;
};

constexpr HfModuleNames kMlp{"mlp", false};
constexpr HfModuleNames kBlockSparse{"block_sparse_moe", true};

const Family kFamilies[] = {
    {"DeepseekV2ForCausalLM", "deepseek_v2", AttentionKind::mla, "n_routed_experts",
     "moe_intermediate_size", kMlp},
    {"DeepseekV3ForCausalLM", "deepseek_v3", AttentionKind::mla, "n_routed_experts",
     "moe_intermediate_size", kMlp},
    {"DeepseekV32ForCausalLM", "deepseek_v32", AttentionKind::mla_dsa, "n_routed_experts",
     "moe_intermediate_size", kMlp},
    {"GlmMoeDsaForCausalLM", "glm_moe_dsa", AttentionKind::mla_dsa, "n_routed_experts",
     "moe_intermediate_size", kMlp},
    {"Glm4MoeForCausalLM", "glm4_moe", AttentionKind::gqa, "n_routed_experts",
     "moe_intermediate_size", kMlp},
    {"Qwen2MoeForCausalLM", "qwen2_moe", AttentionKind::gqa, "num_experts", "moe_intermediate_size",
     kMlp},
    {"Qwen3MoeForCausalLM", "qwen3_moe", AttentionKind::gqa, "num_experts", "moe_intermediate_size",
     kMlp},
    {"MixtralForCausalLM", "mixtral", AttentionKind::gqa, "num_local_experts", "intermediate_size",
     kBlockSparse},
    {"MiniMaxM2ForCausalLM", "minimax_m2", AttentionKind::gqa, "num_local_experts",
     "intermediate_size", kBlockSparse},
    {"GptOssForCausalLM", "gpt_oss", AttentionKind::gqa, "num_local_experts", "intermediate_size",
     kMlp},
    {"OlmoeForCausalLM", "olmoe", AttentionKind::gqa, "num_experts", "intermediate_size", kMlp},
};

constexpr Limits<int> kCount{1, 100'000};
constexpr Limits<int> kCountOrNone{0, 100'000};
constexpr Limits<int> kLayers{1, 1000};
constexpr Limits<int> kHeads{1, 4096};
constexpr Limits<int> kWidth{1, 1'000'000};
constexpr Limits<int> kWidthOrNone{0, 1'000'000};
constexpr Limits<int> kVocabulary{1, 10'000'000};
constexpr Limits<int> kContext{1, 1'000'000'000};

const char* first_present(const ConfigReader& reader, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (reader.has(key)) return key;
  }
  return *keys.begin();
}

std::string supported_architectures() {
  std::string names;
  for (const Family& family : kFamilies) {
    names += (names.empty() ? "supported: " : ", ") + std::string(family.architecture);
  }
  return names;
}

// The text part's own architecture decides; a text part that names none is known by its
// model_type, whatever wrapper it stands in.
const Family* family_of(ConfigReader& text) {
  const auto names = text.list<std::string>("architectures");
  const auto type = text.optional<std::string>("model_type");
  for (const Family& family : kFamilies) {
    if (names && !names->empty() ? names->front() == family.architecture
                                 : type && *type == family.model_type) {
      return &family;
    }
  }
  const bool named = text.has("architectures");
  text.complain(
      named || !type ? "architectures" : "model_type",
      named || type ? "this architecture is not modelled" : "is missing: which model is it?",
      supported_architectures());
  return nullptr;
}

// Reads a supported family's keys into a spec.
class HfModel {
 public:
  HfModel(ConfigReader text, const Family& family) : text_(std::move(text)), family_(family) {}

  ModelSpec read() {
    spec_.layers = text_.required<int>("num_hidden_layers", kLayers);
    spec_.hidden = text_.required<int>("hidden_size", kWidth);
    spec_.vocab = text_.required<int>("vocab_size", kVocabulary);
    spec_.max_context = text_.required<int>("max_position_embeddings", kContext);
    spec_.tied_embeddings = text_.optional<bool>("tie_word_embeddings").value_or(false);
    read_mtp();
    read_experts();
    if (family_.attention == AttentionKind::gqa) {
      read_heads();
    } else {
      read_latent_attention();
    }
    if (family_.attention == AttentionKind::mla_dsa) read_indexer();
    spec_.attention_bias = text_.optional<bool>("attention_bias").value_or(false);
    spec_.expert_bias = std::string_view(family_.model_type) == "gpt_oss";
    read_dtype();
    complain_of_contradictions();
    return spec_;
  }

 private:
  void read_mtp() {
    const char* key = first_present(text_, {"num_nextn_predict_layers", "num_mtp_modules"});
    spec_.mtp_layers = text_.optional<int>(key, {0, 1000}).value_or(0);
  }

  void read_experts() {
    spec_.experts = text_.required<int>(family_.experts, kCount);
    top_k_key_ = first_present(text_, {"num_experts_per_tok", "experts_per_token"});
    spec_.top_k = text_.required<int>(top_k_key_, kCount);
    spec_.moe_intermediate = text_.required<int>(family_.expert_width, kWidth);
    spec_.router_groups = text_.optional<int>("n_group", kCount).value_or(1);
    spec_.dense_layers = read_dense_layers(text_, spec_.layers);
    if (spec_.dense_layers > 0) {
      const char* key = first_present(text_, {"intermediate_size", "dense_intermediate_size"});
      spec_.dense_intermediate = text_.required<int>(key, kWidth);
    }
    spec_.shared_experts = text_.optional<int>("n_shared_experts", kCountOrNone).value_or(0);
    spec_.shared_intermediate = std::min(spec_.shared_experts, 1000) * spec_.moe_intermediate;
    const char* key =
        first_present(text_, {"shared_expert_intermediate_size", "shared_intermediate_size"});
    const auto width = text_.optional<int>(key, kWidthOrNone);
    if (!width) return;
    spec_.shared_intermediate = *width;
    spec_.shared_experts = *width > 0 ? std::max(spec_.shared_experts, 1) : 0;
  }

  void read_heads() {
    AttentionSpec& a = spec_.attention;
    a.query_heads = text_.required<int>("num_attention_heads", kHeads);
    a.kv_heads = text_.optional<int>("num_key_value_heads", kHeads).value_or(a.query_heads);
    const auto head_dim = text_.optional<int>("head_dim", {1, 65'536});
    const bool divisible = a.query_heads > 0 && spec_.hidden % a.query_heads == 0;
    if (!head_dim && a.query_heads > 0 && !divisible) {
      text_.complain("num_attention_heads", "does not divide hidden_size, and head_dim is missing");
    }
    a.head_dim = head_dim ? *head_dim : divisible ? spec_.hidden / a.query_heads : 0;
    a.v_head_dim = a.head_dim;
    const WindowLayers window = read_window_layers(text_, spec_.layers);
    a.window_layers = window.layers;
    a.window_tokens = window.tokens;
  }

  void read_latent_attention() {
    AttentionSpec& a = spec_.attention;
    a.kind = family_.attention;
    a.query_heads = text_.required<int>("num_attention_heads", kHeads);
    a.kv_heads = a.query_heads;
    a.q_lora_rank = text_.optional<int>("q_lora_rank", kWidthOrNone).value_or(0);
    a.kv_lora_rank = text_.required<int>("kv_lora_rank", kWidth);
    a.qk_nope_head_dim = text_.required<int>("qk_nope_head_dim", {1, 65'536});
    a.qk_rope_head_dim = text_.required<int>("qk_rope_head_dim", {1, 65'536});
    a.v_head_dim = text_.required<int>("v_head_dim", {1, 65'536});
    a.head_dim = a.qk_nope_head_dim + a.qk_rope_head_dim;
    if (read_window_layers(text_, spec_.layers).layers > 0) {
      text_.complain("sliding_window", "a sliding window over latent attention is not modelled");
    }
  }

  void read_indexer() {
    AttentionSpec& a = spec_.attention;
    a.index_heads = text_.required<int>("index_n_heads", kHeads);
    a.index_head_dim = text_.required<int>("index_head_dim", {128, 65'536});
    a.index_topk = text_.required<int>("index_topk", kContext);
    a.indexer_layers = spec_.layers;
    const auto types = text_.list<std::string>("indexer_types");
    if (!types || spec_.layers < 1) return;
    if (static_cast<int>(types->size()) != spec_.layers) {
      text_.complain("indexer_types", "has " + std::to_string(types->size()) + " entries for " +
                                          std::to_string(spec_.layers) + " layers");
    }
    a.indexer_layers = static_cast<int>(std::count(types->begin(), types->end(), "full"));
    const auto shared = std::count(types->begin(), types->end(), "shared");
    if (a.indexer_layers + shared != static_cast<long>(types->size()) || a.indexer_layers == 0) {
      text_.complain("indexer_types", "is not a list of `full` and `shared` that starts with one");
    }
  }

  // Engines run all three as 16-bit floats.
  void read_dtype() {
    const char* key = first_present(text_, {"torch_dtype", "dtype"});
    text_.choose(key, {"bfloat16", "float16", "float32"});
  }

  void complain_of_contradictions() {
    if (text_.problem_count() > 0) return;  // they would only echo what is missing
    const std::vector<std::pair<std::string, const char*>> keys{
        {"top_k", top_k_key_},
        {"kv_heads", "num_key_value_heads"},
        {"router_groups", "n_group"},
    };
    for (const SpecProblem& problem : spec_problems(spec_)) {
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& known) {
        return known.first == problem.field;
      });
      text_.complain(key != keys.end() ? key->second : problem.field.c_str(), problem.message);
    }
  }

  ConfigReader text_;
  const Family& family_;
  ModelSpec spec_;
  const char* top_k_key_ = "num_experts_per_tok";
};

// quantization_config may stand in the wrapper or in the text part.
std::optional<ConfigReader> quantization_section(ConfigReader& root, ConfigReader& text) {
  for (ConfigReader* reader : {&root, &text}) {
    if (reader->has("quantization_config")) return reader->section("quantization_config");
  }
  return std::nullopt;
}

}  // namespace

ModelSpec model_of_hf_config(const ConfigNode& config, const ConfigNode* quantization,
                             const std::string& name) {
  constexpr auto kAllow = ConfigReader::UnknownKeys::allow;
  ConfigReader root(config);
  ConfigReader text = root.has("text_config") ? root.section("text_config") : root;
  refuse_unmodelled_features(text);
  root.finish(kAllow);  // what follows would only complain of the same thing in other words
  const Family* family = family_of(text);
  root.finish(kAllow);

  ModelSpec spec = HfModel(text, *family).read();
  root.finish(kAllow);
  spec.name = name;
  spec.source = "config.json of " + name + " (" + family->architecture + ")";
  if (const auto section = quantization_section(root, text)) {
    read_quantization_config(*section, family->modules, &spec);
    root.finish(kAllow);
  } else if (quantization != nullptr) {
    ConfigReader file(*quantization);
    read_hf_quant_file(file, family->modules, &spec);
    file.finish(kAllow);
    spec.source += " and its hf_quant_config.json";
  }
  return spec;
}

}  // namespace plateau
