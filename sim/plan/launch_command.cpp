#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/plan/plan.h"

namespace plateau {

namespace {

// Appends " --flag value" when it is set.
class Flags {
 public:
  void add(const char* flag, const std::string& value) {
    text_ += fmt::format(" --{} {}", flag, value);
  }
  void add(const char* flag, int value) {
    if (value != 0) add(flag, std::to_string(value));
  }
  void add(const char* flag, bool set) {
    if (set) text_ += fmt::format(" --{}", flag);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// "Qwen/Qwen3-30B-A3B" of "Qwen/Qwen3-30B-A3B config.json"; "" of any other source.
std::string hugging_face_name(const std::string& source) {
  const std::size_t space = source.find(' ');
  const std::string name = source.substr(0, space);
  const bool one = std::count(name.begin(), name.end(), '/') == 1;
  return one && source.compare(name.size(), 12, " config.json") == 0 ? name : "";
}

std::string model_path(const ModelSpec& spec, const std::string& model) {
  namespace fs = std::filesystem;
  const fs::path path(model);
  if (path.filename() == "config.json") {
    const std::string folder = path.parent_path().string();
    return folder.empty() ? "." : folder;
  }
  const bool shipped = model.find('/') == std::string::npos && path.extension() != ".json";
  if (!shipped && path.extension() != ".json") return model;  // a folder
  const std::string name = shipped ? hugging_face_name(spec.source) : "";
  return name.empty() ? "'<folder of " + spec.name + ">'" : name;
}

}  // namespace

std::string launch_command(const Scenario& scenario, const std::string& model) {
  const EngineConfig& engine = scenario.engine;
  if (engine.kind != EngineConfig::Kind::sglang) return "";
  Flags flags;
  flags.add("model-path", model_path(scenario.model, model));
  flags.add("tp", std::to_string(scenario.parallel.tp));
  if (engine.mem_fraction_static > 0)
    flags.add("mem-fraction-static", fmt::format("{}", engine.mem_fraction_static));
  if (engine.kv_cache_dtype != "auto") flags.add("kv-cache-dtype", engine.kv_cache_dtype);
  flags.add("max-running-requests", engine.max_running_requests);
  flags.add("chunked-prefill-size", engine.chunked_prefill_size);
  if (engine.max_prefill_tokens != 16384)
    flags.add("max-prefill-tokens", engine.max_prefill_tokens);
  flags.add("page-size", engine.page_size);
  flags.add("cuda-graph-max-bs", engine.cuda_graph_max_bs);
  if (!engine.cuda_graph_bs.empty()) {
    std::string sizes;
    for (const int size : engine.cuda_graph_bs)
      sizes += (sizes.empty() ? "" : " ") + std::to_string(size);
    flags.add("cuda-graph-bs", sizes);
  }
  flags.add("disable-cuda-graph", engine.disable_cuda_graph);
  flags.add("disable-cuda-graph-padding", engine.disable_cuda_graph_padding);
  flags.add("disable-radix-cache", engine.disable_radix_cache);
  flags.add("disable-overlap-schedule", engine.disable_overlap_schedule);
  flags.add("enable-mixed-chunk", engine.enable_mixed_chunk);
  if (engine.schedule_conservativeness != 1)
    flags.add("schedule-conservativeness", fmt::format("{}", engine.schedule_conservativeness));
  std::string command = "python -m sglang.launch_server" + flags.text();
  if (scenario.hardware.power_limit_w)
    command =
        fmt::format("sudo nvidia-smi -pl {:.0f} && ", *scenario.hardware.power_limit_w) + command;
  if (scenario.hardware.sm_clock_mhz)
    command =
        fmt::format("sudo nvidia-smi -lgc {:.0f} && ", *scenario.hardware.sm_clock_mhz) + command;
  if (scenario.parallel.replicas > 1)
    command +=
        fmt::format("  # {} such servers behind a {} balancer", scenario.parallel.replicas,
                    scenario.balancer == BalancerLaw::round_robin ? "round-robin" : "least-loaded");
  return command;
}

}  // namespace plateau
