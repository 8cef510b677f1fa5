#include <fmt/format.h>

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

}  // namespace

std::string launch_command(const Scenario& scenario) {
  const EngineConfig& engine = scenario.engine;
  if (engine.kind != EngineConfig::Kind::sglang) return "";
  Flags flags;
  flags.add("model-path", scenario.model.name);
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
    command = fmt::format("nvidia-smi -pl {:.0f} && ", *scenario.hardware.power_limit_w) + command;
  if (scenario.hardware.sm_clock_mhz)
    command = fmt::format("nvidia-smi -lgc {:.0f} && ", *scenario.hardware.sm_clock_mhz) + command;
  return command;
}

}  // namespace plateau
