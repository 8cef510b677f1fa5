#include "calibration/hf_config.h"

#include <doctest/doctest.h>

#include <string>

#include "calibration/csv.h"
#include "calibration/model_config.h"
#include "models/memory.h"

using namespace plateau;

namespace {

const std::string kSamples = std::string(PLATEAU_SOURCE_DIR) + "/tests/data/hf/";

ModelSpec sample(const std::string& name) {
  return read_hf_config(kSamples + name + "_config.json");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

// The problems of a sample in which one piece of text was replaced.
std::string problems(const std::string& name, const std::string& from, const std::string& to) {
  const std::string text = replaced(read_file(kSamples + name + "_config.json"), from, to);
  try {
    model_of_hf_config(parse_json(text, "config.json"), nullptr, "sample");
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a config.json with grouped-query attention") {
  const ModelSpec spec = sample("grouped");
  CHECK(spec.name == "grouped");
  CHECK(spec.source == "config.json of grouped (Qwen3MoeForCausalLM)");
  CHECK(spec.layers == 4);
  CHECK(spec.dense_layers == 0);
  CHECK(spec.hidden == 512);
  CHECK(spec.experts == 16);
  CHECK(spec.top_k == 4);
  CHECK(spec.moe_intermediate == 256);
  CHECK(spec.shared_experts == 0);
  CHECK(spec.vocab == 32000);
  CHECK(spec.tied_embeddings);
  CHECK(spec.max_context == 8192);
  CHECK(spec.attention.kind == AttentionKind::gqa);
  CHECK(spec.attention.query_heads == 8);
  CHECK(spec.attention.kv_heads == 2);
  CHECK(spec.attention.head_dim == 128);
  CHECK(spec.attention.v_head_dim == 128);
  CHECK(spec.attention.window_layers == 0);
  CHECK(spec.weights.routed_experts == DType::bf16);
  CHECK(spec.kv_dtype == DType::bf16);
}

TEST_CASE("a config.json without head_dim, in block FP8 with exceptions by short name") {
  const ModelSpec spec = sample("mixtral");
  CHECK(spec.attention.head_dim == 64);
  CHECK(spec.moe_intermediate == 1024);
  CHECK(spec.weights.routed_experts == DType::fp8_block);
  CHECK(spec.weights.attention == DType::bf16);
  CHECK_FALSE(spec.weights.attention_output.has_value());
  CHECK(spec.weights.lm_head == DType::bf16);
}

TEST_CASE("a config.json with latent attention, dense layers and shared experts in block FP8") {
  const ModelSpec spec = sample("latent");
  CHECK(spec.attention.kind == AttentionKind::mla);
  CHECK(spec.attention.q_lora_rank == 0);
  CHECK(spec.attention.head_dim == 96);
  CHECK(spec.dense_layers == 2);
  CHECK(spec.dense_intermediate == 4096);
  CHECK(spec.shared_intermediate == 1024);
  CHECK(spec.router_groups == 4);
  CHECK(spec.mtp_layers == 1);
  CHECK(spec.weights.dense_mlp == DType::fp8_block);
  CHECK(spec.weights.attention == DType::fp8_block);
  CHECK(spec.weights.router == DType::bf16);
  CHECK(spec.weights.lm_head == DType::bf16);
}

TEST_CASE("a config.json with a sparse indexer and its hf_quant_config.json beside it") {
  const ModelSpec spec = sample("sparse");
  CHECK(spec.attention.kind == AttentionKind::mla_dsa);
  CHECK(spec.attention.indexer_layers == 2);
  CHECK(spec.attention.index_topk == 1024);
  CHECK(spec.dense_layers == 1);
  CHECK(spec.weights.routed_experts == DType::nvfp4);
  CHECK(spec.weights.shared_experts == DType::nvfp4);
  CHECK(spec.weights.dense_mlp == DType::bf16);
  CHECK(spec.weights.attention == DType::bf16);
  CHECK(spec.kv_dtype == DType::fp8);
  CHECK(contains(spec.source, "hf_quant_config.json"));
}

TEST_CASE("a config.json with sliding windows and MXFP4 experts") {
  const ModelSpec spec = sample("window");
  CHECK(spec.attention.window_layers == 2);
  CHECK(spec.attention.window_tokens == 128);
  CHECK(spec.attention_bias);
  CHECK(spec.expert_bias);
  CHECK(spec.top_k == 4);
  CHECK(spec.weights.routed_experts == DType::mxfp4);
  CHECK(spec.weights.attention == DType::bf16);
}

TEST_CASE("the text_config of a multimodal config.json with int4 experts") {
  const ModelSpec spec = sample("multimodal");
  CHECK(spec.layers == 3);
  CHECK(spec.experts == 48);
  CHECK(spec.weights.routed_experts == DType::int4);
  CHECK(spec.weights.shared_experts == DType::bf16);
  CHECK(spec.weights.dense_mlp == DType::bf16);
  CHECK(spec.weights.attention == DType::bf16);
  CHECK(spec.weights.lm_head == DType::bf16);
}

TEST_CASE("an o_proj quantised alone keeps a type of its own") {
  ModelSpec spec = sample("sparse");
  const std::string path = kSamples + "sparse_hf_quant_config.json";
  const std::string quantization =
      replaced(replaced(replaced(replaced(read_file(path), "model.layers.0.self_attn*",
                                          "model.layers.*.self_attn.q*"),
                                 "model.layers.1.self_attn*", "model.layers.*.self_attn.kv*"),
                        "model.layers.2.self_attn*", "x"),
               "model.layers.3.self_attn.o_proj", "y");
  const ConfigNode config = read_json_file(kSamples + "sparse_config.json");
  const ConfigNode tree = parse_json(quantization, path);
  const ModelSpec mixed = model_of_hf_config(config, &tree, "mixed");
  CHECK(mixed.weights.attention == DType::bf16);
  CHECK(mixed.weights.output_projection() == DType::nvfp4);
  CHECK(weight_bytes(mixed, Parallelism{}).total() < weight_bytes(spec, Parallelism{}).total());
}

TEST_CASE("what a config.json lacks is named with its place") {
  CHECK(problems("grouped", "\"hidden_size\": 512,", "") ==
        "config.json:1:1: hidden_size: is missing");
  const std::string two =
      problems("grouped", "\"hidden_size\": 512,\n  \"num_attention_heads\": 8,", "");
  CHECK(contains(two, "hidden_size: is missing"));
  CHECK(contains(two, "num_attention_heads: is missing"));
  CHECK(contains(problems("multimodal", "\"kv_lora_rank\": 512,", ""),
                 "text_config.kv_lora_rank: is missing"));
  CHECK(contains(
      problems("grouped",
               "\"architectures\": [\"Qwen3MoeForCausalLM\"],\n  \"model_type\": \"qwen3_moe\",",
               ""),
      "architectures: is missing"));
  CHECK(contains(problems("window", "\"sliding_window\": 128,", ""), "sliding_window: is missing"));
}

TEST_CASE("wrong types and absurd values in a config.json are refused at their line") {
  CHECK(contains(problems("grouped", "\"hidden_size\": 512", "\"hidden_size\": \"512\""),
                 "config.json:5:"));
  CHECK(
      contains(problems("grouped", "\"num_experts\": 16", "\"num_experts\": [16]"), "num_experts"));
  CHECK(contains(problems("grouped", "\"num_experts\": 16", "\"num_experts\": -16"),
                 "outside the range"));
  CHECK(contains(problems("grouped", "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 4000000"),
                 "outside the range"));
  CHECK(contains(problems("grouped", "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 1e99"),
                 "num_hidden_layers"));
  CHECK(contains(problems("grouped", "\"num_experts_per_tok\": 4", "\"num_experts_per_tok\": 17"),
                 "num_experts_per_tok: is more than the experts"));
  CHECK(contains(problems("grouped", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3"),
                 "does not divide the query heads"));
  CHECK(contains(problems("mixtral", "\"hidden_size\": 512", "\"hidden_size\": 513"),
                 "head_dim is missing"));
  CHECK(contains(problems("latent", "\"n_group\": 4", "\"n_group\": 5"),
                 "does not divide the experts"));
  CHECK(contains(problems("grouped", "\"bfloat16\"", "\"int3\""), "torch_dtype"));
}

TEST_CASE("a config.json that is no JSON, no map or not there") {
  const auto what = [](const std::string& text) {
    try {
      model_of_hf_config(parse_json(text, "config.json"), nullptr, "sample");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(contains(what("not json"), "config.json:1"));
  CHECK(contains(what("[1, 2]"), "where a map is due"));
  CHECK(contains(what("{\"text_config\": 3}"), "text_config"));
  CHECK(contains(what("{}"), "architectures: is missing"));
  CHECK_THROWS_AS(read_hf_config(kSamples + "absent_config.json"), InputError);
}

TEST_CASE("unmodelled features of a config.json are refused by name") {
  const auto with = [](const std::string& extra) {
    return problems("grouped", "\"num_experts\": 16", extra + ", \"num_experts\": 16");
  };
  CHECK(contains(with("\"compress_ratios\": [0, 4]"), "compressed attention"));
  CHECK(contains(with("\"attention_chunk_size\": 8192"),
                 "config.json:9:27: attention_chunk_size: asks for chunked attention"));
  CHECK(contains(with("\"linear_attn_config\": {}"), "linear attention"));
  CHECK(contains(with("\"sparse_attention_config\": {\"use_sparse_attention\": true}"),
                 "block-sparse attention"));
  CHECK(with("\"sparse_attention_config\": {\"use_sparse_attention\": false}") == "nothing");
  CHECK(with("\"attention_output_gate\": false") == "nothing");
  CHECK(contains(with("\"attn_type_list\": [1, 0, 1, 1]"), "lightning"));
  CHECK(contains(with("\"layer_types\": [\"linear_attention\", \"full_attention\", "
                      "\"full_attention\", \"full_attention\"]"),
                 "layers of type `linear_attention` are not modelled"));
  CHECK(problems("grouped", "\"architectures\": [\"Qwen3MoeForCausalLM\"],", "") == "nothing");
  CHECK(contains(problems("grouped", "Qwen3MoeForCausalLM", "Qwen3MoeForCausalLMEagle3"),
                 "this architecture is not modelled"));  // model_type does not overrule it
  const std::string unknown = problems("mixtral", "MixtralForCausalLM", "GrokForCausalLM");
  CHECK(contains(unknown, "this architecture is not modelled"));
  CHECK(contains(unknown, "supported: DeepseekV2ForCausalLM"));
}

TEST_CASE("dense layers anywhere but in front are refused") {
  CHECK(contains(problems("grouped", "\"mlp_only_layers\": []", "\"mlp_only_layers\": [2]"),
                 "between expert layers"));
  CHECK(contains(problems("grouped", "\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 2"),
                 "between expert layers"));
  CHECK(problems("grouped", "\"mlp_only_layers\": []", "\"mlp_only_layers\": [0, 1]") == "nothing");
  CHECK(contains(problems("latent", "\"moe_layer_freq\": 1", "\"moe_layer_freq\": [0, 1, 1, 1, 1]"),
                 "makes 1 leading layers dense where 2 are stated elsewhere"));
  CHECK(contains(problems("sparse", "[\"dense\", \"sparse\", \"sparse\", \"sparse\"]",
                          "[\"dense\", \"sparse\"]"),
                 "has 2 entries for 4 layers"));
  CHECK(contains(problems("grouped", "\"mlp_only_layers\": []", "\"mlp_only_layers\": [4]"),
                 "outside the range"));
}

TEST_CASE("quantisation that is not modelled is refused by name") {
  const auto fp8 = [](const std::string& from, const std::string& to) {
    return problems("latent", from, to);
  };
  CHECK(contains(fp8("\"fp8\"", "\"awq\""), "quantisation method `awq` is not modelled"));
  CHECK(contains(fp8("\"quant_method\": \"fp8\",", ""),
                 "quantization_config.quant_method: is missing"));
  CHECK(contains(fp8("[128, 128]", "[64, 64]"), "blocks other than 128 x 128"));
  CHECK(contains(fp8("\"fp8\"", "\"modelopt\", \"quant_algo\": \"MIXED_PRECISION\""),
                 "`MIXED_PRECISION` is not modelled"));
  CHECK(contains(fp8("\"fp8\"", "\"modelopt\", \"quant_algo\": \"NVFP4\", \"group_size\": 32"),
                 "groups other than 16"));
  CHECK(contains(fp8("[128, 128]}",
                     "[128, 128], \"modules_to_not_convert\": [\"model.layers.2.mlp.experts\"]}"),
                 "leaves out 3 of the 9 modules of the routed experts"));
  CHECK(contains(fp8("[128, 128]}", "[128, 128], \"modules_to_not_convert\": [\"re:(a|b)+\"]}"),
                 "regular expression"));
  CHECK(contains(problems("multimodal", "\"group_size\": 32", "\"group_size\": 128"),
                 "in groups of 128 are not modelled"));
  CHECK(contains(problems("multimodal", "[\"Linear\"]", "[\"re:.*experts.*\"]"),
                 "config_groups.group_0.targets"));
  CHECK(contains(problems("multimodal", "\"config_groups\"", "\"groups\""),
                 "config_groups: is missing"));
  CHECK(contains(problems("multimodal", "\"format\": \"pack-quantized\"",
                          "\"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"int\"}"),
                 "this KV cache type is not modelled"));
}

TEST_CASE("compressed-tensors types and KV schemes") {
  const auto type_of = [](const std::string& weights) {
    std::string text = read_file(kSamples + "multimodal_config.json");
    text = replaced(
        text, "\"num_bits\": 4, \"type\": \"int\", \"group_size\": 32, \"strategy\": \"group\"",
        weights);
    text = replaced(text, "\"format\": \"pack-quantized\"",
                    "\"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\"}");
    const ModelSpec spec = model_of_hf_config(parse_json(text, "config.json"), nullptr, "sample");
    CHECK(spec.kv_dtype == DType::fp8);
    return spec.weights.routed_experts;
  };
  CHECK(type_of(R"("num_bits": 8, "type": "int")") == DType::int8);
  CHECK(type_of(R"("num_bits": 8, "type": "float", "strategy": "channel")") == DType::fp8);
  CHECK(
      type_of(
          R"("num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128])") ==
      DType::fp8_block);
  CHECK(type_of(R"("num_bits": 4, "type": "float", "group_size": 16)") == DType::nvfp4);
  CHECK(type_of(R"("num_bits": 4, "type": "float", "group_size": 32)") == DType::mxfp4);
}
