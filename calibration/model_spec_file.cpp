#include "calibration/model_spec_file.h"

#include <vector>

#include "calibration/config_reader.h"

namespace plateau {
namespace {

constexpr int kDeepestBase = 4;

const ConfigReader::Choices<DType> kDTypes{{"fp32", DType::fp32},   {"bf16", DType::bf16},
                                           {"fp8", DType::fp8},     {"fp8_block", DType::fp8_block},
                                           {"int8", DType::int8},   {"int4", DType::int4},
                                           {"nvfp4", DType::nvfp4}, {"mxfp4", DType::mxfp4}};

const ConfigReader::Choices<AttentionKind> kAttentionKinds{
    {"gqa", AttentionKind::gqa}, {"mla", AttentionKind::mla}, {"mla_dsa", AttentionKind::mla_dsa}};

// Keys of one map over the values of a base: required where there is no base to take them from.
class SpecKeys {
 public:
  SpecKeys(ConfigReader reader, bool has_base) : reader_(std::move(reader)), has_base_(has_base) {}

  void need(const char* key, int& value, Limits<int> limits) {
    if (has_base_) {
      take(key, value, limits);
    } else {
      value = reader_.required<int>(key, limits);
    }
  }
  template <class T>
  void take(const char* key, T& value, Limits<T> limits = any_value<T>()) {
    if (const auto given = reader_.optional<T>(key, limits)) value = *given;
  }
  void take(const char* key, DType& value) {
    if (const auto given = reader_.one_of(key, kDTypes)) value = *given;
  }
  ConfigReader& reader() { return reader_; }

 private:
  ConfigReader reader_;
  bool has_base_;
};

void read_latent_keys(SpecKeys& keys, AttentionSpec& a, int layers) {
  constexpr Limits<int> kDim{1, 65'536};
  keys.take<int>("q_lora_rank", a.q_lora_rank, {0, 1'000'000});
  keys.need("kv_lora_rank", a.kv_lora_rank, {1, 1'000'000});
  keys.need("qk_nope_head_dim", a.qk_nope_head_dim, kDim);
  keys.need("qk_rope_head_dim", a.qk_rope_head_dim, kDim);
  keys.need("v_head_dim", a.v_head_dim, kDim);
  a.kv_heads = a.query_heads;
  a.head_dim = a.qk_nope_head_dim + a.qk_rope_head_dim;
  if (a.kind != AttentionKind::mla_dsa) return;
  keys.need("index_heads", a.index_heads, {1, 4096});
  keys.need("index_head_dim", a.index_head_dim, {128, 65'536});
  keys.need("index_topk", a.index_topk, {1, 1'000'000'000});
  if (a.indexer_layers == 0) a.indexer_layers = layers;
  keys.take<int>("indexer_layers", a.indexer_layers, {1, 1000});
}

void read_attention(SpecKeys keys, AttentionSpec& a, int layers, bool has_base) {
  if (const auto kind = keys.reader().one_of("kind", kAttentionKinds)) {
    a.kind = *kind;
  } else if (!has_base && !keys.reader().has("kind")) {
    keys.reader().complain("kind", "is missing", "gqa, mla or mla_dsa");
  }
  keys.need("query_heads", a.query_heads, {1, 4096});
  if (a.kind != AttentionKind::gqa) {
    read_latent_keys(keys, a, layers);
    return;
  }
  keys.need("kv_heads", a.kv_heads, {1, 4096});
  keys.need("head_dim", a.head_dim, {1, 65'536});
  if (a.v_head_dim == 0 || keys.reader().has("head_dim")) a.v_head_dim = a.head_dim;
  keys.take<int>("v_head_dim", a.v_head_dim, {1, 65'536});
  keys.take<int>("window_tokens", a.window_tokens, {1, 100'000'000});
  keys.take<int>("window_layers", a.window_layers, {0, 1000});
  if ((a.window_tokens > 0) != (a.window_layers > 0)) {
    keys.reader().complain("window_layers", "window_tokens and window_layers go together");
  }
}

void read_weights(SpecKeys keys, WeightTypes& weights) {
  if (const auto all = keys.reader().one_of("all", kDTypes)) {
    weights.routed_experts = weights.shared_experts = weights.dense_mlp = weights.attention = *all;
    weights.attention_output.reset();
  }
  keys.take("routed_experts", weights.routed_experts);
  keys.take("shared_experts", weights.shared_experts);
  keys.take("dense_mlp", weights.dense_mlp);
  keys.take("attention", weights.attention);
  if (const auto output = keys.reader().one_of("attention_output", kDTypes)) {
    weights.attention_output = *output;
  }
  keys.take("router", weights.router);
  keys.take("embedding", weights.embedding);
  keys.take("lm_head", weights.lm_head);
}

void read_shape(SpecKeys& keys, ModelSpec& spec, bool has_base) {
  keys.need("layers", spec.layers, {1, 1000});
  keys.take<int>("dense_layers", spec.dense_layers, {0, 1000});
  keys.need("hidden", spec.hidden, {1, 1'000'000});
  keys.take<int>("dense_intermediate", spec.dense_intermediate, {1, 1'000'000});
  keys.need("experts", spec.experts, {1, 100'000});
  keys.need("top_k", spec.top_k, {1, 100'000});
  keys.need("moe_intermediate", spec.moe_intermediate, {1, 1'000'000});
  keys.take<int>("shared_experts", spec.shared_experts, {0, 1000});
  if (keys.reader().has("shared_experts") || keys.reader().has("moe_intermediate")) {
    spec.shared_intermediate = spec.shared_experts * spec.moe_intermediate;
  }
  keys.take<int>("shared_intermediate", spec.shared_intermediate, {0, 1'000'000});
  keys.take<int>("router_groups", spec.router_groups, {1, 100'000});
  keys.need("vocab", spec.vocab, {1, 10'000'000});
  keys.take("tied_embeddings", spec.tied_embeddings);
  keys.take("attention_bias", spec.attention_bias);
  keys.take("expert_bias", spec.expert_bias);
  keys.take<int>("mtp_layers", spec.mtp_layers, {0, 1000});
  if (!has_base && !keys.reader().has("max_context")) {
    keys.reader().complain("max_context", "is missing", "max_context: 131072 tokens");
  }
  const auto context =
      keys.reader().tokens("max_context", {1, 1'000'000'000}, ConfigReader::TokenUnit::required);
  if (context) spec.max_context = static_cast<int>(*context);
}

ModelSpec read_with_bases(const std::string& folder, const std::string& name, int depth) {
  const std::string path = folder + "/" + name + ".yaml";
  const ConfigNode tree = read_yaml_file(path);
  const ConfigNode* base = tree.find("base");
  if (base == nullptr) return model_of_spec_tree(tree, name, ModelSpec{}, false);
  if (depth >= kDeepestBase || base->kind != ConfigNode::Kind::scalar ||
      base->text.find_first_of("/\\") != std::string::npos) {
    throw InputError(base->problem("base", "is not the name of another spec"));
  }
  return model_of_spec_tree(tree, name, read_with_bases(folder, base->text, depth + 1), true);
}

}  // namespace

ModelSpec model_of_spec_tree(const ConfigNode& tree, const std::string& name, const ModelSpec& base,
                             bool has_base) {
  ModelSpec spec = base;
  ConfigReader reader(tree);
  SpecKeys keys(reader, has_base);
  spec.name = name;
  spec.source = reader.required<std::string>("source");
  reader.optional<std::string>("base");
  read_shape(keys, spec, has_base);
  read_attention(SpecKeys(reader.section("attention"), has_base), spec.attention, spec.layers,
                 has_base);
  read_weights(SpecKeys(reader.section("weights"), has_base), spec.weights);
  keys.take("activations", spec.activations);
  keys.take("kv_dtype", spec.kv_dtype);
  if (reader.problem_count() == 0) {
    for (const SpecProblem& problem : spec_problems(spec)) {
      reader.complain(problem.field, problem.message);
    }
  }
  reader.finish();
  return spec;
}

ModelSpec read_model_spec_file(const std::string& folder, const std::string& name) {
  return read_with_bases(folder, name, 0);
}

}  // namespace plateau
