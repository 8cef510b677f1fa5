#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/model_config.h"
#include "sim/scenario/read_scenario.h"

namespace {

std::vector<std::string> shipped() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PLATEAU_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

plateau::Scenario read(const std::string& path) {
  plateau::ScenarioOptions options;
  options.load_model = [](const std::string& name) {
    return plateau::load_model(name, PLATEAU_SOURCE_DIR);
  };
  return plateau::read_scenario(path, options);
}

}  // namespace

TEST_CASE("every shipped scenario reads and starts with its question") {
  CHECK(shipped().size() >= 11);
  for (const std::string& path : shipped()) {
    CAPTURE(path);
    plateau::Scenario scenario;
    CHECK_NOTHROW(scenario = read(path));
    REQUIRE_FALSE(scenario.question.empty());
    CHECK(scenario.question.back() == '?');
  }
}

TEST_CASE("the founding run is the scenario that was launched") {
  const plateau::Scenario s = read(PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml");
  CHECK(s.engine.kv_pool_tokens == 495488);
  CHECK(s.workload.requests == 6144);
  CHECK(s.model.layers == 78);
  REQUIRE(s.warnings.size() == 1);
  CHECK(s.warnings[0].find("engine.num_continuous_decode_steps") == 0);
  const plateau::Scenario derived =
      read(PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000-derived-pool.yaml");
  CHECK_FALSE(derived.engine.kv_pool_tokens);
  CHECK(derived.engine.kv_source == "derived");
  CHECK(derived.measured.kind == plateau::ConfigNode::Kind::null);
}
