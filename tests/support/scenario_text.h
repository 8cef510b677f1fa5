// Scenarios for tests: written to a temporary folder, read with a model that needs no file.
#pragma once

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/scenario/read_scenario.h"

namespace plateau::test {

// A folder that goes away with its name.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> next{0};
    path_ = std::filesystem::temp_directory_path() /
            ("plateau-" + std::to_string(::getpid()) + "-" + std::to_string(next++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// 64 heads, 256 experts of 2048 columns, one router group, context 202,752: GLM-5's sizes where a
// scenario looks.
inline ModelSpec small_model(const std::string& name) {
  if (name != "glm" && name.find(".json") == std::string::npos) {
    throw InputError(Problem{"", 0, 0, "", "there is no model `" + name + "`", "one of: glm"});
  }
  ModelSpec model;
  model.name = name;
  model.layers = 78;
  model.experts = 256;
  model.top_k = 8;
  model.moe_intermediate = 2048;
  model.max_context = 202752;
  model.attention.query_heads = 64;
  return model;
}

inline ScenarioOptions small_options(std::vector<std::string> sets = {}) {
  ScenarioOptions options;
  options.sets = std::move(sets);
  options.load_model = small_model;
  return options;
}

inline constexpr const char* kSmallScenario = R"(# Does it read?
model: glm
hardware: {device: rtx-pro-6000-server, interconnect: pcie}
parallel: {tp: 8}
engine:
  kind: sglang
  version: 2026-02
workload:
  concurrency: 2048
  requests: 3 per client
  input_length: 128 tokens
  output_length: 128 tokens
routing: {law: uniform}
calibration: {profile: sglang-0.5.14}
)";

}  // namespace plateau::test
