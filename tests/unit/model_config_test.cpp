#include "calibration/model_config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/csv.h"
#include "calibration/model_spec_file.h"
#include "models/memory.h"
#include "tests/support/sample_models.h"

using namespace plateau;

namespace {

const std::string kData = PLATEAU_SOURCE_DIR;

std::string load_problems(const std::string& model) {
  try {
    load_model(model, kData);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

std::string yaml_problems(const std::string& text) {
  try {
    model_of_spec_tree(parse_yaml(text, "spec.yaml"), "sample", ModelSpec{}, false);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kSpec =
    "source: by hand\nlayers: 4\nhidden: 512\nexperts: 16\ntop_k: 4\nmoe_intermediate: 256\nvocab: "
    "32000\n"
    "max_context: 8192 tokens\nattention: {kind: gqa, query_heads: 8, kv_heads: 2, head_dim: 64}\n";

}  // namespace

TEST_CASE("every shipped model loads, with its name, a source and lawful sizes") {
  const std::vector<std::string> names = list_models(kData);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"glm-5", "glm-5-nvfp4", "glm-5-nvfp4-community", "deepseek-v3",
                           "deepseek-r1", "deepseek-v3.2", "kimi-k2", "qwen3-30b-a3b",
                           "qwen3-235b-a22b", "qwen3-235b-a22b-fp8", "gpt-oss-120b", "minimax-m2.5",
                           "mixtral-8x7b", "mixtral-8x7b-16l", "glm45-air-20l", "olmoe-1b-7b"}) {
    CHECK_MESSAGE(std::count(names.begin(), names.end(), name) == 1, name);
  }
  for (const std::string& name : names) {
    const ModelSpec spec = load_model(name, kData);
    CHECK(spec.name == name);
    CHECK_FALSE(spec.source.empty());
    CHECK(spec.attention.v_head_dim > 0);
    CHECK(spec_problems(spec).empty());
    CHECK(kv_bytes_per_token(spec, Parallelism{}, DType::fp8) > 0);
  }
}

TEST_CASE("shipped models have their published sizes") {
  const auto billions = [](const char* name) {
    return parameters(load_model(name, kData)).total() / 1e9;
  };
  const auto active = [](const char* name) {
    return active_parameters(load_model(name, kData)) / 1e9;
  };
  CHECK(billions("glm-5") == doctest::Approx(744).epsilon(0.001));
  CHECK(billions("deepseek-v3") == doctest::Approx(671).epsilon(0.001));
  CHECK(billions("kimi-k2") == doctest::Approx(1026).epsilon(0.001));  // "1T"
  CHECK(billions("qwen3-235b-a22b") == doctest::Approx(235).epsilon(0.001));
  CHECK(billions("gpt-oss-120b") == doctest::Approx(116.83).epsilon(0.0001));
  CHECK(billions("minimax-m2.5") == doctest::Approx(229).epsilon(0.002));
  CHECK(billions("mixtral-8x7b") == doctest::Approx(46.7).epsilon(0.001));
  CHECK(billions("olmoe-1b-7b") == doctest::Approx(6.9).epsilon(0.005));
  CHECK(active("deepseek-v3") == doctest::Approx(37).epsilon(0.02));
  CHECK(active("kimi-k2") == doctest::Approx(32).epsilon(0.03));
  CHECK(active("mixtral-8x7b") == doctest::Approx(12.9).epsilon(0.005));
  CHECK(active("olmoe-1b-7b") == doctest::Approx(1.3).epsilon(0.02));
}

TEST_CASE("the two NVFP4 checkpoints of GLM-5 differ in shared experts and dense layers") {
  const ModelSpec community = load_model("glm-5-nvfp4-community", kData);
  const ModelSpec nvidia = load_model("glm-5-nvfp4", kData);
  const Parallelism tp8 = tensor_parallel(8);
  CHECK(weight_bytes(community, tp8).total() == weight_bytes(sample_glm5(), tp8).total());
  CHECK(weight_bytes(community, tp8).total() / kGiB == doctest::Approx(55.6).epsilon(0.0005));
  CHECK(weight_bytes(nvidia, tp8).total() / kGiB == doctest::Approx(55.03).epsilon(0.0002));
  CHECK(nvidia.weights.attention == DType::bf16);
  CHECK(nvidia.kv_dtype == DType::fp8);
  CHECK(kv_bytes_per_token(nvidia, tp8, DType::fp8) == 55224);
  const ModuleSizes on_disk = weight_bytes(community, Parallelism{});  // without the absorbed copy
  CHECK((on_disk.total() - on_disk.absorbed_kv_b) / 1e9 == doctest::Approx(446).epsilon(0.0005));
}

TEST_CASE("a base lends what the spec leaves out") {
  const ModelSpec v3 = load_model("deepseek-v3", kData);
  const ModelSpec v32 = load_model("deepseek-v3.2", kData);
  CHECK(v32.layers == v3.layers);
  CHECK(v32.router_groups == 8);
  CHECK(v32.attention.kind == AttentionKind::mla_dsa);
  CHECK(v32.attention.kv_lora_rank == 512);
  CHECK(v32.attention.indexer_layers == 61);
  CHECK(v32.weights.routed_experts == DType::fp8_block);
  CHECK(load_model("mixtral-8x7b-16l", kData).layers == 16);
}

TEST_CASE("an unknown model name gets a suggestion, a -tpN suffix is the caller's") {
  CHECK(contains(load_problems("glm-5-nvfp"), "did you mean `glm-5-nvfp4`?"));
  CHECK(contains(load_problems("qwen3-30b-a3b-tp2"), "is not a shipped model"));
  CHECK(contains(load_problems("zzzzzzzzzzzz"), "path to a config.json"));
  CHECK(contains(load_problems("../specs/glm-5"), "cannot be read"));
  CHECK(list_models("/nowhere").empty());
}

TEST_CASE("a path loads a config.json, or the one in a folder") {
  const std::string sample = kData + "/tests/data/hf/latent_config.json";
  CHECK(load_model(sample, kData).name == "latent");
  CHECK(contains(load_problems(kData + "/tests/data/hf/"), "config.json: cannot be read"));
}

TEST_CASE("a spec file says what is missing, misspelt or impossible, all at once") {
  CHECK(yaml_problems(kSpec) == "nothing");
  const std::string empty = yaml_problems("layers: 4\n");
  for (const char* key :
       {"source", "hidden", "experts", "max_context", "attention.kind", "attention.query_heads"}) {
    CHECK_MESSAGE(contains(empty, std::string(key) + ": is missing"), key);
  }
  CHECK(contains(yaml_problems(kSpec + "moe_layers: 3\n"),
                 "spec.yaml:10:1: moe_layers: unknown key"));
  CHECK(contains(yaml_problems(kSpec + "weights: {routed_experts: nvfp8}\n"),
                 "did you mean `nvfp4`?"));
  CHECK(contains(yaml_problems(kSpec + "dense_layers: 5\ndense_intermediate: 64\n"),
                 "dense_layers: is more than the layers"));
  CHECK(contains(yaml_problems(kSpec + "dense_layers: 1\n"), "dense_intermediate: is missing"));
  CHECK(contains(yaml_problems(kSpec + "router_groups: 3\n"), "does not divide the experts"));
  CHECK(contains(yaml_problems(kSpec + "mtp_layers: many\n"),
                 "mtp_layers: `many` is not a whole number"));
  CHECK(contains(yaml_problems("[]"), "where a map is due"));
}

TEST_CASE("weights: all sets the linear layers, single kinds override it") {
  const ModelSpec spec = model_of_spec_tree(
      parse_yaml(kSpec + "weights: {all: fp8, routed_experts: int4, attention_output: bf16}\n",
                 "s"),
      "sample", ModelSpec{}, false);
  CHECK(spec.weights.routed_experts == DType::int4);
  CHECK(spec.weights.attention == DType::fp8);
  CHECK(spec.weights.output_projection() == DType::bf16);
  CHECK(spec.weights.shared_experts == DType::fp8);
  CHECK(spec.weights.router == DType::bf16);
  CHECK(spec.weights.lm_head == DType::bf16);
}

TEST_CASE("a spec whose bases go round in circles is refused") {
  const std::string folder = "model_config_test_specs";
  std::filesystem::create_directories(folder);
  write_file(folder + "/a.yaml", "source: x\nbase: a\n");
  write_file(folder + "/b.yaml", "source: x\nbase: ../b\n");
  CHECK_THROWS_AS(read_model_spec_file(folder, "a"), InputError);
  CHECK_THROWS_AS(read_model_spec_file(folder, "b"), InputError);
  std::filesystem::remove_all(folder);
}
