#include "sim/scenario/from_command.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibration/csv.h"
#include "calibration/whole.h"
#include "sim/scenario/draft_yaml.h"
#include "sim/scenario/launch_flags.h"
#include "sim/scenario/sglang_version.h"
#include "sim/scenario/unmodelled.h"

namespace plateau {

namespace {

using imports::LaunchCommand;
using imports::LaunchFlag;
using imports::Program;
using Role = FlagRule::Role;
using Value = FlagRule::Value;

constexpr const char* kAssumedVersion = "2026-02";

bool is_server(Program program) {
  return program == Program::sglang_server || program == Program::vllm_server;
}

std::string lower_dashed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

class Drafter {
 public:
  Drafter(const imports::LaunchScript& script, const DraftOptions& options)
      : script_(script), options_(options) {}

  ScenarioDraft draft() {
    for (const LaunchCommand& command : script_.commands) {
      const LaunchCommand*& slot = is_server(command.program) ? server_ : bench_;
      if (slot != nullptr) {
        note("a second " + std::string(is_server(command.program) ? "server" : "benchmark") +
             " in line " + std::to_string(command.line) + " is passed over");
        continue;
      }
      slot = &command;
      for (const LaunchFlag& flag : command.flags) take(command, flag);
    }
    draft_model();
    draft_parallel();
    draft_hardware();
    draft_engine();
    draft_workload();
    draft_calibration();
    draft_environment();
    draft_.yaml = yaml_of(draft_);
    return std::move(draft_);
  }

 private:
  void note(std::string text) { draft_.notes.push_back(std::move(text)); }
  void warn(std::string text) { draft_.warnings.push_back(std::move(text)); }
  void set(const std::string& key, const std::string& value, const std::string& flag = "") {
    draft_.keys.push_back({key, value, flag});
  }
  void leave_open(const std::string& key, const std::string& how) {
    draft_.open.push_back(key + ": " + how);
  }

  // Sorts one flag into its place; special ones wait for their section.
  void take(const LaunchCommand& command, const LaunchFlag& flag) {
    const FlagRule* rule = flag_rule(command.program, flag.name);
    if (rule == nullptr) {
      draft_.unknown.push_back(flag.written);
      warn(flag.written + ": unknown flag; it is not in the scenario");
      return;
    }
    if (rule->role == Role::immaterial)
      draft_.immaterial.push_back({flag.written, std::string(rule->text)});
    if (rule->role == Role::unmodelled) {
      warn(flag.written + ": not modelled (" + std::string(rule->text) +
           "); the scenario runs without it");
    }
    if (rule->role != Role::key) return;
    const auto value = yaml_value(flag, rule->value);
    if (!value)
      return warn(flag.written + ": its value is not understood; it is not in the scenario");
    const std::string key(rule->text);
    replace({key, *value, flag.written});
    if (is_unmodelled("engine", key.substr(key.find('.') + 1), *value)) {
      note(flag.written + " is not modelled yet: a run refuses " + key);
    }
  }

  // A flag given twice: the parsers of both engines take the last.
  void replace(DraftKey key) {
    const auto same = [&](const DraftKey& other) { return other.key == key.key; };
    const auto found = std::find_if(engine_.begin(), engine_.end(), same);
    if (found == engine_.end()) {
      engine_.push_back(std::move(key));
      return;
    }
    note(key.flag + " is given twice: the last one counts");
    *found = std::move(key);
  }

  // The first of the names that the command has.
  static const LaunchFlag* any_of(const LaunchCommand* command,
                                  std::initializer_list<const char*> names) {
    if (command == nullptr) return nullptr;
    for (const char* name : names) {
      if (const LaunchFlag* flag = command->find(name)) return flag;
    }
    return nullptr;
  }
  std::optional<double> number_of(const LaunchFlag* flag) {
    constexpr double kLargest = 1e12;
    if (flag == nullptr) return std::nullopt;
    const auto value = flag->values.empty() ? std::nullopt : parse_number(flag->values[0]);
    if (value && std::abs(*value) <= kLargest) return value;
    warn(flag->written + ": its value is not understood; it is not in the scenario");
    return std::nullopt;
  }

  // A flag was given, and not what it says: its default would be a guess. Leaves the key open.
  bool left_open(const char* key, const LaunchFlag* flag, const std::optional<double>& value) {
    if (flag == nullptr || value) return false;
    set(key, "~", flag->written);
    leave_open(key, "the value of " + flag->written + " is not understood");
    return true;
  }

  // "nvidia/GLM-5-NVFP4" names the shipped spec glm-5-nvfp4.
  void draft_model() {
    const LaunchFlag* flag = any_of(server_, {"model-path", "model"});
    std::string name = flag != nullptr && !flag->values.empty() ? flag->values[0] : "";
    if (name.empty() && server_ != nullptr && !server_->words.empty()) name = server_->words[0];
    if (name.empty()) {
      if (const LaunchFlag* of_bench = any_of(bench_, {"model"});
          of_bench != nullptr && !of_bench->values.empty()) {
        name = of_bench->values[0];
      }
    }
    const std::string written = flag == nullptr ? "" : flag->written;
    if (name.empty()) {
      set("model", "~");
      return leave_open("model", "a name from `plateau list models`, or a config.json");
    }
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    const std::string last = lower_dashed(name.substr(name.rfind('/') + 1));
    if (std::find(options_.models.begin(), options_.models.end(), last) != options_.models.end()) {
      set("model", last, written);
    } else {
      set("model", "~", written);
      leave_open("model",
                 "no shipped spec is named `" + last + "`; give the config.json of " + name);
    }
  }

  void degree(const char* key, std::optional<double> value, const LaunchFlag* flag) {
    if (value) set(key, std::to_string(whole(*value)), flag == nullptr ? "" : flag->written);
  }

  void draft_parallel() {
    const LaunchFlag* tp = any_of(server_, {"tp-size", "tensor-parallel-size", "tp"});
    const LaunchFlag* pp = any_of(server_, {"pp-size", "pipeline-parallel-size", "pp"});
    const LaunchFlag* dp = any_of(server_, {"dp-size", "data-parallel-size", "dp"});
    const LaunchFlag* ep = any_of(server_, {"ep-size", "expert-parallel-size", "ep"});
    const LaunchFlag* attention = any_of(server_, {"enable-dp-attention"});
    const std::optional<double> tp_degree = number_of(tp);
    const std::optional<double> dp_degree = number_of(dp);
    tp_ = std::max(1.0, tp_degree.value_or(1));
    const std::optional<double> pp_degree = number_of(pp);
    pp_ = std::max(1.0, pp_degree.value_or(1));
    if (!left_open("parallel.tp", tp, tp_degree)) degree("parallel.tp", tp_, tp);
    if (pp != nullptr && !left_open("parallel.pp", pp, pp_degree)) degree("parallel.pp", pp_, pp);
    if (ep != nullptr) {
      const std::optional<double> ep_degree = number_of(ep);
      if (!left_open("parallel.ep", ep, ep_degree)) degree("parallel.ep", ep_degree, ep);
    }
    if (any_of(server_, {"enable-expert-parallel"}) != nullptr) {
      degree("parallel.ep", tp_ * dp_degree.value_or(1),
             any_of(server_, {"enable-expert-parallel"}));
    }
    if (left_open(attention != nullptr ? "parallel.attention_dp" : "parallel.replicas", dp,
                  dp_degree)) {
    } else if (attention != nullptr) {
      degree("parallel.attention_dp", dp_degree.value_or(1), attention);
    } else if (dp != nullptr) {
      replicas_ = std::max(1.0, dp_degree.value_or(1));
      degree("parallel.replicas", replicas_, dp);
    }
    for (const DraftKey& key : draft_.keys) {
      const std::size_t dot = key.key.find('.');
      if (dot != std::string::npos &&
          is_unmodelled("parallel", key.key.substr(dot + 1), key.value)) {
        note(key.flag + " is not modelled yet: a run refuses " + key.key);
      }
    }
  }

  void draft_hardware() {
    const bool known = !options_.device.empty();
    set("hardware.device", known ? yaml_word(options_.device) : "~");
    if (!known)
      leave_open("hardware.device",
                 "the command does not name the GPU; --device, from `plateau list devices`");
    const auto open = [this](const DraftKey& key) {
      return key.key.rfind("parallel.", 0) == 0 && key.value == "~";
    };
    if (std::none_of(draft_.keys.begin(), draft_.keys.end(), open))
      set("hardware.count", std::to_string(whole(tp_ * pp_ * replicas_)));
    if (tp_ <= 1) return;
    const auto p2p = script_.environment.find("NCCL_P2P_DISABLE");
    if (p2p != script_.environment.end() && p2p->second == "1") {
      return set("hardware.interconnect", "pcie_host_staged", "NCCL_P2P_DISABLE=1");
    }
    if (!known) {
      set("hardware.interconnect", "~");
      return leave_open("hardware.interconnect", "nvlink, pcie or pcie_host_staged");
    }
    const bool sxm = options_.device.find("sxm") != std::string::npos;
    set("hardware.interconnect", sxm ? "nvlink" : "pcie");
    note("hardware.interconnect: assumed from the device's name");
  }

  void draft_engine() {
    const bool vllm = server_ != nullptr && server_->program == Program::vllm_server;
    set("engine.kind", vllm ? "vllm" : "sglang");
    if (vllm) {
      note("vLLM's scheduler is not modelled yet: a run refuses engine.kind vllm");
    } else {
      draft_version();
    }
    if (server_ == nullptr) note("no server command: the engine's flags are its defaults");
    for (const DraftKey& key : engine_) set(key.key, key.value, key.flag);
    call_out_ignored();
  }

  void draft_version() {
    version_ = !options_.engine_version.empty() ? options_.engine_version : script_.sglang_version;
    const bool assumed = version_.empty();
    if (assumed) {
      version_ = kAssumedVersion;
      note(std::string("engine.version: not in the command, ") + kAssumedVersion +
           " is assumed (--engine-version)");
    }
    set("engine.version", yaml_word(version_),
        !options_.engine_version.empty() || assumed ? "" : "image tag");
  }

  void call_out_ignored() {
    const LaunchFlag* steps = any_of(server_, {"num-continuous-decode-steps"});
    const auto version = parse_sglang_version(version_);
    if (steps != nullptr && !(version && version->honours_continuous_decode_steps)) {
      draft_.ignored_by_engine.push_back(
          {steps->written,
           "SGLang parses this flag and ignores it since 0.3.6; engine.hypothetical."
           "continuous_decode_steps: true studies its effect"});
    }
    const LaunchFlag* policy = any_of(server_, {"schedule-policy"});
    const bool cache_aware = policy != nullptr && !policy->values.empty() &&
                             (policy->values[0] == "lpm" || policy->values[0] == "dfs-weight");
    if (cache_aware && any_of(server_, {"disable-radix-cache"}) != nullptr) {
      draft_.ignored_by_engine.push_back(
          {policy->written, "without the radix cache SGLang falls back to fcfs"});
    }
    const LaunchFlag* mixed = any_of(server_, {"enable-mixed-chunk"});
    if (mixed != nullptr &&
        any_of(server_, {"speculative-algorithm", "speculative-algo"}) != nullptr) {
      draft_.ignored_by_engine.push_back(
          {mixed->written, "speculative decoding turns mixed chunks off"});
    }
  }

  void draft_workload() {
    if (bench_ == nullptr) {
      note("no benchmark command: the workload is left open");
      for (const char* key : {"concurrency", "requests", "input_length", "output_length"}) {
        set(std::string("workload.") + key, "~");
        leave_open(std::string("workload.") + key, "the command does not say");
      }
      return;
    }
    const bool sglang = bench_->program == Program::sglang_bench;
    constexpr double kDefaultPrompts = 1000;  // of both benchmarks
    const LaunchFlag* prompts_flag = any_of(bench_, {"num-prompts", "num-prompt"});
    const std::optional<double> given = number_of(prompts_flag);
    const double prompts = given.value_or(kDefaultPrompts);
    draft_client(prompts, prompts_flag == nullptr || given);
    if (!left_open("workload.requests", prompts_flag, given)) {
      set("workload.requests", std::to_string(whole(prompts)),
          prompts_flag == nullptr ? "" : prompts_flag->written);
    }
    draft_lengths(sglang);
    const LaunchFlag* ignore = any_of(bench_, {"ignore-eos"});
    const LaunchFlag* dont = any_of(bench_, {"disable-ignore-eos"});
    const bool ignore_eos = sglang ? dont == nullptr : ignore != nullptr;
    const LaunchFlag* said = sglang ? dont : ignore;
    set("workload.ignore_eos", ignore_eos ? "true" : "false", said == nullptr ? "" : said->written);
  }

  void draft_client(double prompts, bool prompts_known) {
    const LaunchFlag* rate = any_of(bench_, {"request-rate"});
    const LaunchFlag* limit = any_of(bench_, {"max-concurrency"});
    const LaunchFlag* burst = any_of(bench_, {"burstiness"});
    const std::string said = rate == nullptr || rate->values.empty() ? "inf" : rate->values[0];
    const bool finite = parse_number(said).has_value();
    if (!finite && lower_dashed(said) != "inf" && lower_dashed(said) != "infinity") {
      left_open("workload.client", rate, number_of(rate));
      return;
    }
    if (!finite) {
      const auto clients = number_of(limit);
      set("workload.client", "closed_loop", rate == nullptr ? "" : rate->written);
      if (left_open("workload.concurrency", limit, clients)) return;
      if (!clients)
        note("workload.concurrency: without --max-concurrency all requests are sent at once");
      if (!clients && !prompts_known) {
        set("workload.concurrency", "~");
        return leave_open("workload.concurrency", "as many as there are requests");
      }
      set("workload.concurrency", std::to_string(whole(clients.value_or(prompts))),
          limit == nullptr ? "" : limit->written);
      return;
    }
    const auto burstiness = number_of(burst);
    const bool gamma = burstiness && *burstiness != 1;
    set("workload.client", gamma ? "gamma" : "poisson", rate->written);
    set("workload.request_rate", rate->values[0] + " requests/s", rate->written);
    if (gamma) set("workload.burstiness", burst->values[0], burst->written);
    if (limit != nullptr) {
      warn(limit->written +
           ": not modelled together with a request rate; the scenario runs without it");
    }
  }

  // random_range_ratio: SGLang draws from [ratio x length, length], vLLM from length +- ratio x
  // length.
  void draft_lengths(bool sglang) {
    constexpr double kSglangDefault = 1024;
    constexpr double kVllmOutput = 128;
    const LaunchFlag* data = any_of(bench_, {"dataset-name"});
    const std::string name = data == nullptr || data->values.empty() ? "" : data->values[0];
    const bool random = name.rfind("random", 0) == 0 || (name.empty() && !sglang);
    const LaunchFlag* input = any_of(bench_, {"random-input-len", "random-input", "input-len"});
    const LaunchFlag* output = any_of(bench_, {"random-output-len", "random-output", "output-len"});
    if (!random && input == nullptr && output == nullptr) {
      const std::string set_name = name.empty() ? "sharegpt" : name;
      for (const char* key : {"workload.input_length", "workload.output_length"}) {
        set(key, "~", data == nullptr ? "" : data->written);
        leave_open(key, "the lengths are those of the data set " + set_name);
      }
      return;
    }
    const LaunchFlag* ratio = any_of(bench_, {"random-range-ratio"});
    const std::optional<double> given = number_of(ratio);
    if (left_open("workload.input_length", ratio, given)) {
      left_open("workload.output_length", ratio, given);
      return;
    }
    const double spread = given.value_or(0);
    draft_length("workload.input_length", input, kSglangDefault, spread, ratio, sglang);
    draft_length("workload.output_length", output, sglang ? kSglangDefault : kVllmOutput, spread,
                 ratio, sglang);
  }

  void draft_length(const char* key, const LaunchFlag* flag, double otherwise, double spread,
                    const LaunchFlag* ratio, bool sglang) {
    const std::optional<double> given = number_of(flag);
    if (left_open(key, flag, given)) return;
    const auto tokens = whole(given.value_or(otherwise));
    const std::string length = std::to_string(tokens) + " tokens";
    const bool fixed = spread == (sglang ? 1 : 0);
    const std::string shown = spread == 0 ? "0" : ratio->values[0];
    set(key,
        fixed ? length
              : "{law: " + std::string(sglang ? "sglang_uniform" : "vllm_uniform") +
                    ", tokens: " + length + ", ratio: " + shown + "}",
        flag == nullptr ? "" : flag->written);
    if (ratio == nullptr && sglang && !said_ratio_) {
      said_ratio_ = true;
      note("random_range_ratio: SGLang's default 0 draws every length from 1 up to the one given");
    }
  }

  // The one profile of this engine on the device, else left open.
  void draft_calibration() {
    std::vector<std::string> fit;
    for (const std::string& profile : options_.profiles) {
      if (!options_.device.empty() && profile.rfind(options_.device + "/sglang", 0) == 0)
        fit.push_back(profile);
    }
    if (fit.size() == 1) {
      set("calibration.profile", fit[0]);
      return note("calibration.profile: the only profile of this engine on the device");
    }
    set("calibration.profile", "~");
    leave_open("calibration.profile", "from `plateau list profiles`");
  }

  void draft_environment() {
    for (const auto& [name, value] : script_.environment) {
      const bool rule =
          name.rfind("SGLANG_INIT_NEW_TOKEN", 0) == 0 || name.rfind("SGLANG_CLIP_MAX", 0) == 0 ||
          name.rfind("SGLANG_MIN_NEW_TOKEN", 0) == 0 ||
          name.rfind("SGLANG_NEW_TOKEN_RATIO", 0) == 0 || name.rfind("SGLANG_RETRACT", 0) == 0;
      if (rule)
        warn(name +
             ": changes a rule of the scheduler; not modelled, the scenario runs without it");
      if (!rule && name != "NCCL_P2P_DISABLE") {
        draft_.immaterial.push_back({name, "environment variable"});
      }
    }
  }

  const imports::LaunchScript& script_;
  const DraftOptions& options_;
  ScenarioDraft draft_;
  const LaunchCommand* server_ = nullptr;
  const LaunchCommand* bench_ = nullptr;
  std::vector<DraftKey> engine_;
  std::string version_;
  double tp_ = 1;
  double pp_ = 1;
  double replicas_ = 1;
  bool said_ratio_ = false;
};

}  // namespace

ScenarioDraft draft_scenario(const imports::LaunchScript& script, const DraftOptions& options) {
  return Drafter(script, options).draft();
}

}  // namespace plateau
