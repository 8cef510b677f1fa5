// Every real config.json at hand either loads or is refused for a named reason. The files are third
// party and not part of this repository: the test runs where they stand beside the checkout.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/input_error.h"
#include "calibration/model_config.h"
#include "models/memory.h"
#include "tests/support/sample_models.h"

using namespace plateau;

namespace {

const std::string kFolder = std::string(PLATEAU_SOURCE_DIR) + "/../shared/data/model_configs/";

bool there() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no ../shared/data/model_configs beside the checkout");
  return false;
}

struct Config {
  std::string name;
  double billions = 0;      // published parameters; 0: refused
  std::string refused_for;  // key that asks for what is not modelled
};

const std::vector<Config> kConfigs{
    {"MiniMaxAI--MiniMax-M2.5", 229, ""},
    {"MiniMaxAI--MiniMax-M2.7", 229, ""},
    {"MiniMaxAI--MiniMax-M3", 0, "sparse_attention_config"},
    {"Qwen--Qwen3-235B-A22B", 235, ""},
    {"Qwen--Qwen3-235B-A22B-FP8", 235, ""},
    {"Qwen--Qwen3-30B-A3B", 30.5, ""},
    {"Qwen--Qwen3-30B-A3B-FP8", 30.5, ""},
    {"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480, ""},
    {"deepseek-ai--DeepSeek-R1", 671, ""},
    {"deepseek-ai--DeepSeek-V3", 671, ""},
    {"deepseek-ai--DeepSeek-V3.2", 671, ""},
    {"deepseek-ai--DeepSeek-V4-Flash", 0, "compress_ratios"},
    {"deepseek-ai--DeepSeek-V4-Pro", 0, "compress_ratios"},
    {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", 0, "text_config.attention_chunk_size"},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", 0, "text_config.attention_chunk_size"},
    {"mistralai--Mixtral-8x22B-v0.1", 141, ""},
    {"mistralai--Mixtral-8x7B-v0.1", 46.7, ""},
    {"moonshotai--Kimi-K2-Instruct", 1026, ""},
    {"moonshotai--Kimi-K2.5", 1026, ""},
    {"moonshotai--Kimi-K3", 0, "text_config.linear_attn_config"},
    {"nvidia--DeepSeek-V3.1-NVFP4", 671, ""},
    {"nvidia--DeepSeek-V3.2-NVFP4", 671, ""},
    {"nvidia--DeepSeek-V4-Flash-NVFP4", 0, "compress_ratios"},
    {"nvidia--DeepSeek-V4-Pro-NVFP4", 0, "compress_ratios"},
    {"nvidia--GLM-5-NVFP4", 744, ""},
    {"nvidia--GLM-5.1-NVFP4", 744, ""},
    {"nvidia--GLM-5.2-NVFP4", 744, ""},
    {"nvidia--Kimi-K2.5-NVFP4", 1026, ""},
    {"nvidia--Kimi-K2.6-NVFP4", 1026, ""},
    {"nvidia--Kimi-K2.7-Code-NVFP4", 1026, ""},
    {"nvidia--MiniMax-M2.5-NVFP4", 229, ""},
    {"nvidia--MiniMax-M2.7-NVFP4", 229, ""},
    {"nvidia--Qwen3-235B-A22B-NVFP4", 235, ""},
    {"openai--gpt-oss-120b", 116.83, ""},
    {"openai--gpt-oss-20b", 20.91, ""},
    {"sgl-project--DeepSeek-V4-Flash-FP8", 0, "compress_ratios"},
    {"sgl-project--DeepSeek-V4-Pro-FP8", 0, "compress_ratios"},
    {"zai-org--GLM-5", 744, ""},
    {"zai-org--GLM-5-FP8", 744, ""},
    {"zai-org--GLM-5.1", 744, ""},
    {"zai-org--GLM-5.1-FP8", 744, ""},
    {"zai-org--GLM-5.2", 744, ""},
    {"zai-org--GLM-5.2-FP8", 744, ""},
};

std::string path_of(const std::string& name) { return kFolder + name + "_config.json"; }

ModelSpec read(const std::string& name) { return read_hf_config(path_of(name)); }

// "" when the file loads; else whether a problem names `key` with its line.
bool is_refused_for(const Config& config) {
  try {
    read(config.name);
  } catch (const InputError& error) {
    const auto& problems = error.problems();
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
      return problem.key == config.refused_for && problem.line > 1 &&
             problem.file == path_of(config.name) &&
             problem.message.find("not modelled") != std::string::npos;
    });
  }
  return false;
}

}  // namespace

TEST_CASE("every real config.json loads with its published size or names what is not modelled") {
  if (!there()) return;
  int loaded = 0;
  for (const Config& config : kConfigs) {
    CAPTURE(config.name);
    if (!config.refused_for.empty()) {
      CHECK(is_refused_for(config));
      continue;
    }
    ModelSpec spec;
    REQUIRE_NOTHROW(spec = read(config.name));
    ++loaded;
    CHECK(spec.name == config.name);
    CHECK(spec_problems(spec).empty());
    CHECK(parameters(spec).total() / 1e9 == doctest::Approx(config.billions).epsilon(0.004));
  }
  CHECK(loaded == 33);
}

TEST_CASE("no real config.json is left out of the list") {
  if (!there()) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    if (file.find("_config.json") == std::string::npos ||
        file.find("hf_quant") != std::string::npos)
      continue;
    ++files;
    CHECK_MESSAGE(
        std::any_of(kConfigs.begin(), kConfigs.end(),
                    [&](const Config& config) { return config.name + "_config.json" == file; }),
        file);
  }
  CHECK(files == kConfigs.size());
}

TEST_CASE("shipped specs agree with the real config.json they name") {
  if (!there()) return;
  const std::pair<const char*, const char*> pairs[] = {
      {"glm-5", "zai-org--GLM-5"},
      {"glm-5-nvfp4", "nvidia--GLM-5-NVFP4"},
      {"deepseek-v3", "deepseek-ai--DeepSeek-V3"},
      {"deepseek-r1", "deepseek-ai--DeepSeek-R1"},
      {"deepseek-v3.2", "deepseek-ai--DeepSeek-V3.2"},
      {"kimi-k2", "moonshotai--Kimi-K2-Instruct"},
      {"qwen3-30b-a3b", "Qwen--Qwen3-30B-A3B"},
      {"qwen3-235b-a22b", "Qwen--Qwen3-235B-A22B"},
      {"qwen3-235b-a22b-fp8", "Qwen--Qwen3-235B-A22B-FP8"},
      {"gpt-oss-120b", "openai--gpt-oss-120b"},
      {"minimax-m2.5", "MiniMaxAI--MiniMax-M2.5"},
      {"mixtral-8x7b", "mistralai--Mixtral-8x7B-v0.1"},
  };
  for (const auto& [shipped, real] : pairs) {
    CAPTURE(shipped);
    const ModelSpec a = load_model(shipped, PLATEAU_SOURCE_DIR);
    const ModelSpec b = read(real);
    CHECK(a.vocab == b.vocab);
    CHECK(a.max_context == b.max_context);
    CHECK(a.mtp_layers == b.mtp_layers);
    CHECK(a.router_groups == b.router_groups);
    CHECK(a.kv_dtype == b.kv_dtype);
    CHECK(a.attention.index_topk == b.attention.index_topk);
    CHECK(a.attention.window_tokens == b.attention.window_tokens);
    CHECK(a.attention.window_layers == b.attention.window_layers);
    CHECK(a.top_k == b.top_k);
    for (const int tp : {1, 8}) {
      const auto of_a = weight_bytes(a, tensor_parallel(tp)).items();
      const auto of_b = weight_bytes(b, tensor_parallel(tp)).items();
      for (std::size_t i = 0; i < of_a.size(); ++i) {
        CAPTURE(of_a[i].first);
        CHECK(of_a[i].second == of_b[i].second);
      }
      CHECK(kv_bytes_per_token(a, tensor_parallel(tp), DType::fp8) ==
            kv_bytes_per_token(b, tensor_parallel(tp), DType::fp8));
    }
  }
}

TEST_CASE("quantised modules of real checkpoints") {
  if (!there()) return;
  const WeightTypes glm5 = read("nvidia--GLM-5-NVFP4").weights;
  CHECK(glm5.shared_experts == DType::nvfp4);
  CHECK(glm5.dense_mlp == DType::nvfp4);
  CHECK(glm5.attention == DType::bf16);
  const WeightTypes glm51 = read("nvidia--GLM-5.1-NVFP4").weights;
  CHECK(glm51.routed_experts == DType::nvfp4);
  CHECK(glm51.shared_experts == DType::bf16);
  CHECK(glm51.dense_mlp == DType::bf16);
  const WeightTypes v31 = read("nvidia--DeepSeek-V3.1-NVFP4").weights;
  CHECK(v31.attention == DType::bf16);
  CHECK(v31.output_projection() == DType::nvfp4);
  const WeightTypes qwen = read("nvidia--Qwen3-235B-A22B-NVFP4").weights;
  CHECK(qwen.attention == DType::nvfp4);
  CHECK(qwen.lm_head == DType::bf16);
  CHECK(read("moonshotai--Kimi-K2.5").weights.routed_experts == DType::int4);
  CHECK(read("nvidia--Kimi-K2.6-NVFP4").kv_dtype == DType::fp8);
  CHECK(read("nvidia--GLM-5.2-NVFP4").attention.indexer_layers == 21);
  CHECK(read("zai-org--GLM-5-FP8").weights.attention == DType::fp8_block);
  CHECK(read("openai--gpt-oss-20b").weights.routed_experts == DType::mxfp4);
}
