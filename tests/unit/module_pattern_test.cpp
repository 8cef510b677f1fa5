#include "calibration/module_pattern.h"

#include <doctest/doctest.h>

#include <string>

using plateau::ModulePatterns;

namespace {
bool hits(const std::string& pattern, const std::string& module) {
  ModulePatterns patterns;
  REQUIRE(patterns.add(pattern) == "");
  return patterns.match(module);
}
}  // namespace

TEST_CASE("a plain module name hits whole dotted parts only") {
  CHECK(hits("lm_head", "lm_head"));
  CHECK(hits("gate", "model.layers.3.mlp.gate"));
  CHECK_FALSE(hits("gate", "model.layers.3.mlp.gate_proj"));
  CHECK(hits("model.layers.3.self_attn", "model.layers.3.self_attn.q_proj"));
  CHECK_FALSE(hits("model.layers.3", "model.layers.30.self_attn.q_proj"));
  CHECK(hits("self_attn.q_proj", "model.layers.3.self_attn.q_proj"));
}

TEST_CASE("module wildcards cross dots") {
  CHECK(hits("model.layers.1.*", "model.layers.1.mlp.down_proj"));
  CHECK_FALSE(hits("model.layers.1.*", "model.layers.11.mlp.down_proj"));
  CHECK(hits("model.layers.0*", "model.layers.0.self_attn.o_proj"));
  CHECK(hits("model.layers.7.self_attn*", "model.layers.7.self_attn.kv_b_proj"));
  CHECK(hits("model.layers.*.self_attn", "model.layers.12.self_attn.k_proj"));
  CHECK_FALSE(hits("model.layers.*.self_attn", "model.layers.12.mlp.experts.0.up_proj"));
  CHECK(hits("*.attn.*", "model.layers.0.attn.wq"));
  CHECK(hits("model.layers.[0-2].mlp*", "model.layers.2.mlp.up_proj"));
  CHECK_FALSE(hits("model.layers.[0-2].mlp*", "model.layers.3.mlp.up_proj"));
  CHECK(hits("model.layers.?.mlp", "model.layers.5.mlp.up_proj"));
}

TEST_CASE("names of multimodal checkpoints are found by the language model's names") {
  CHECK(hits("language_model.lm_head", "lm_head"));
  CHECK(hits("language_model.model.layers.0*", "model.layers.0.mlp.up_proj"));
  CHECK(hits("model.language_model.layers.0*", "model.layers.0.mlp.up_proj"));
  CHECK_FALSE(hits("vision_tower*", "model.layers.0.mlp.up_proj"));
}

TEST_CASE("module expressions match from the start") {
  const std::string dense = "re:.*mlp\\.(gate|up|gate_up|down)_proj.*";
  CHECK(hits(dense, "model.layers.0.mlp.gate_proj"));
  CHECK(hits(dense, "model.layers.0.mlp.down_proj"));
  CHECK_FALSE(hits(dense, "model.layers.1.mlp.experts.0.gate_proj"));
  CHECK(hits("re:.*self_attn.*", "model.layers.9.self_attn.q_a_proj"));
  CHECK(hits("re:^model\\.layers\\.\\d+\\.mlp\\.gate$", "model.layers.9.mlp.gate"));
  CHECK_FALSE(hits("re:model\\.layers\\.\\d+\\.mlp\\.gate$", "model.layers.9.mlp.gate_proj"));
  CHECK_FALSE(hits("re:layers", "model.layers.9.mlp.gate"));  // not a search
  CHECK(hits("re:model.layers.[0-9]+.mlp.(?:gate|router)", "model.layers.10.mlp.router"));
}

TEST_CASE("expressions beyond the subset are refused, not misread") {
  for (const char* pattern :
       {"re:(a|b)+", "re:a{2}", "re:(?=x)a", "re:a\\b", "re:(a", "re:a)", "re:[a", "re:*a",
        "re:((((((((((a))))))))))", "re:(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)", "x[*"}) {
    ModulePatterns patterns;
    CHECK_MESSAGE(patterns.add(pattern) != "", pattern);
  }
  CHECK(ModulePatterns().add(std::string(600, 'a')) != "");
}

TEST_CASE("a hostile expression takes steps, not hours") {
  ModulePatterns patterns;
  std::string pattern = "re:";
  for (int i = 0; i < 100; ++i) pattern += "a*";
  REQUIRE(patterns.add(pattern + "b$") == "");
  CHECK_FALSE(patterns.match(std::string(200, 'a')));
}
