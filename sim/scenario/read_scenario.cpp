#include "sim/scenario/read_scenario.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "calibration/config_reader.h"
#include "calibration/csv.h"
#include "calibration/model_config.h"
#include "sim/scenario/measured.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/sections.h"
#include "sim/scenario/unmodelled.h"

namespace plateau {

namespace {

const ConfigReader::Choices<Interconnect> kInterconnects = {
    {"nvlink", Interconnect::nvlink},
    {"pcie", Interconnect::pcie},
    {"pcie_host_staged", Interconnect::pcie_host_staged}};

const ConfigReader::Choices<BalancerLaw> kBalancers = {{"round_robin", BalancerLaw::round_robin},
                                                       {"least_loaded", BalancerLaw::least_loaded}};

bool is_path(const std::string& model) {
  return model.find('/') != std::string::npos ||
         std::filesystem::path(model).extension() == ".json";
}

// Names of the folders in `path` that hold `inside`, sorted.
std::vector<std::string> folders_with(const std::filesystem::path& path, const char* inside) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (std::filesystem::exists(entry.path() / inside, error))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// One scenario being read: the sections that must agree with each other.
class ScenarioReader {
 public:
  ScenarioReader(ConfigNode root, const ScenarioOptions& options)
      : options_(options),
        top_(std::move(root)),
        parallel_(top_.section("parallel")),
        hardware_(top_.section("hardware")),
        calibration_(top_.section("calibration")) {}

  Scenario read() {
    read_all();
    top_.finish();
    return std::move(scenario_);
  }

  std::vector<std::string> keys() {
    read_all();
    return top_.known_paths();
  }

 private:
  void read_all() {
    read_model();
    read_parallel();
    read_hardware();
    read_engine(top_.section("engine"), options_.pool_only, &scenario_.engine, &scenario_.warnings);
    if (options_.pool_only) {
      top_.raw("workload");  // may be left open
    } else {
      read_workload(top_.section("workload"), &scenario_.workload);
    }
    read_routing(top_.section("routing"), std::max(scenario_.model.router_groups, 1),
                 &scenario_.routing, &scenario_.warnings);
    if (!options_.pool_only || top_.has("calibration")) read_calibration();
    read_what_if(top_.section("hypothetical"), &scenario_.hypothetical, &scenario_.warnings);
    read_rank_delay(top_.section("hypothetical"));
    read_rest();
    if (model_known_) check_model();
  }

  void read_rank_delay(ConfigReader hypothetical) {
    const auto delay = hypothetical.quantity("rank_delay", Dimension::time, {0, 3600});
    if (!delay || *delay == 0) return;
    scenario_.rank_delay_s = *delay;
    if (scenario_.parallel.tp > 1) return;
    hypothetical.complain("rank_delay", "nobody waits for the only rank", "set parallel.tp");
  }

  void read_model() {
    const std::string text = top_.required<std::string>("model");
    if (text.empty()) return;
    const ModelName model = split_model_name(text);
    suffix_tp_ = model.tp;
    const std::string name =
        is_path(model.name) ? path_from(*top_.raw("model"), model.name) : model.name;
    try {
      scenario_.model =
          options_.load_model ? options_.load_model(name) : load_model(name, options_.data_dir);
      model_known_ = true;
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) add_at_model(problem);
    }
  }

  // A problem of the model's own file keeps its place; one that has none happened at `model:`.
  void add_at_model(const Problem& problem) {
    if (problem.file.empty()) {
      top_.complain("model", problem.message, problem.hint);
    } else {
      top_.add(problem);
    }
  }

  int degree(const char* key, int otherwise) {
    return parallel_.optional<int>(key, {1, kMostGpus}).value_or(otherwise);
  }

  void read_parallel() {
    if (!options_.pool_only) refuse_unmodelled("parallel", &parallel_);
    Parallelism& parallel = scenario_.parallel;
    parallel.tp = degree("tp", std::max(suffix_tp_, 1));
    parallel.pp = degree("pp", 1);
    parallel.ep = degree("ep", 1);
    parallel.attention_dp = degree("attention_dp", 1);
    parallel.replicas = degree("replicas", 1);
    const auto balancer = parallel_.one_of<BalancerLaw>("balancer", kBalancers);
    scenario_.balancer = balancer.value_or(BalancerLaw::round_robin);
    if (suffix_tp_ > 0 && parallel.tp != suffix_tp_) {
      parallel_.complain("tp",
                         std::to_string(parallel.tp) +
                             " contradicts the model's name, which ends in -tp" +
                             std::to_string(suffix_tp_),
                         "remove one of the two");
    }
  }

  void read_hardware() {
    HardwareConfig& hardware = scenario_.hardware;
    hardware.device = hardware_.required<std::string>("device");
    const std::int64_t needed =
        std::int64_t{scenario_.parallel.tp} * scenario_.parallel.pp * scenario_.parallel.replicas;
    const auto count = hardware_.optional<int>("count", {1, kMostGpus});
    hardware.count = count.value_or(static_cast<int>(std::min<std::int64_t>(needed, kMostGpus)));
    if (hardware.count != needed && (count || needed > kMostGpus)) {
      hardware_.complain("count",
                         std::to_string(hardware.count) +
                             " GPUs, but tp x pp x replicas = " + std::to_string(needed),
                         "leave count out, or change parallel");
    }
    const auto interconnect = hardware_.one_of<Interconnect>("interconnect", kInterconnects);
    if (!hardware_.has("interconnect") && scenario_.parallel.tp > 1 && !options_.pool_only) {
      hardware_.complain("interconnect", "is missing", "nvlink, pcie or pcie_host_staged");
    }
    hardware.interconnect = interconnect.value_or(Interconnect::nvlink);
    hardware.power_limit_w = hardware_.quantity("power_limit", Dimension::power, {1, 100'000});
    const auto clock = hardware_.quantity("sm_clock", Dimension::frequency, {1e6, 1e11});
    if (clock) hardware.sm_clock_mhz = *clock / 1e6;
  }

  void read_calibration() {
    CalibrationConfig& calibration = scenario_.calibration;
    calibration.profile = calibration_.required<std::string>("profile");
    calibration.board = calibration_.optional<std::string>("board").value_or("");
    const auto attention = calibration_.choose("attention", {"table", "kv_bandwidth"});
    calibration.attention = attention == 1 ? "kv_bandwidth" : "table";
    calibration.power =
        calibration_.choose("power", {"profile", "limit"}) == 1 ? "limit" : "profile";
    if (const auto runs = calibration_.optional<std::string>("power_runs"))
      calibration.power_runs = path_from(*calibration_.raw("power_runs"), *runs);
    if (is_profile_path(calibration.profile)) return locate_profile();
    const std::string& device = scenario_.hardware.device;
    const std::size_t slash = calibration.profile.find('/');
    if (slash == std::string::npos && !calibration.profile.empty()) {
      calibration.profile = device + "/" + calibration.profile;
    } else if (slash != std::string::npos && !device.empty() &&
               calibration.profile.substr(0, slash) != device) {
      calibration_.complain("profile", "is of another device than hardware.device, " + device,
                            "write " + device + "/...");
    }
    if (!options_.data_dir.empty()) check_profile();
  }

  // A profile of the user's own, named by its folder as seen from the file that names it.
  void locate_profile() {
    std::string& profile = scenario_.calibration.profile;
    const std::filesystem::path path =
        std::filesystem::path(path_from(*calibration_.raw("profile"), profile)).lexically_normal();
    profile = is_profile_path(path.string()) ? path.string() : "./" + path.string();
    std::error_code error;
    if (options_.data_dir.empty() || std::filesystem::exists(path / "meta.yaml", error)) return;
    calibration_.complain("profile", "there is no " + profile + "/meta.yaml",
                          "plateau calibrate --measured writes such a folder");
  }

  // The names against the folders of calibration/data, here, where the place of each name is known.
  void check_profile() {
    const std::filesystem::path data =
        std::filesystem::path(options_.data_dir) / "calibration" / "data";
    const std::string& device = scenario_.hardware.device;
    const std::vector<std::string> devices = folders_with(data, ".");
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      if (!device.empty()) complain_unknown(&hardware_, "device", device, devices);
      return;
    }
    std::vector<std::string> profiles = folders_with(data / device, "meta.yaml");
    for (std::string& profile : profiles) profile = device + "/" + profile;
    const std::string& wanted = scenario_.calibration.profile;
    const bool known = std::find(profiles.begin(), profiles.end(), wanted) != profiles.end();
    const bool of_device = wanted.rfind(device + "/", 0) == 0 && wanted.size() > device.size() + 1;
    if (!known && of_device) complain_unknown(&calibration_, "profile", wanted, profiles);
  }

  static void complain_unknown(ConfigReader* reader, const char* key, const std::string& word,
                               const std::vector<std::string>& names) {
    std::string hint;
    for (const std::string& name : names) hint += (hint.empty() ? "one of: " : ", ") + name;
    const std::string near = closest(word, names);
    if (!near.empty()) hint = "did you mean `" + near + "`?";
    reader->complain(key, "there is no " + std::string(key) + " `" + word + "`",
                     hint.empty() ? "there is none at all" : hint);
  }

  void read_rest() {
    scenario_.seed = static_cast<std::uint64_t>(
        top_.optional<std::int64_t>("seed", {0, 999'999'999'999'999'999}).value_or(1));
    if (options_.seed) scenario_.seed = *options_.seed;
    top_.raw("base");  // already followed
    for (const auto& [key, kept] :
         {std::pair<const char*, ConfigNode*>{"measured", &scenario_.measured},
          {"limits", &scenario_.limits},
          {"cost", &scenario_.cost}}) {
      if (const ConfigNode* node = top_.raw(key)) *kept = *node;
    }
    read_measured(top_.section("measured"));  // for its mistakes; `plateau validate` uses it
    read_limits(top_.section("limits"), &scenario_.latency_limits);
    const CostConfig prices = read_cost(top_.section("cost"));
    if (top_.has("cost")) scenario_.prices = prices;
  }

  // What the sizes of the model rule out.
  void check_model() {
    const ModelSpec& model = scenario_.model;
    const int tp = scenario_.parallel.tp;
    const auto check_split = [&](int size, const char* what) {
      if (size % tp == 0) return;
      parallel_.complain("tp", std::to_string(size) + " " + what + " cannot be split over " +
                                   std::to_string(tp) + " GPUs");
    };
    check_split(model.attention.query_heads, "attention heads");
    if (model.experts > 0) check_split(model.moe_intermediate, "columns of an expert");
    const double longest =
        longest_of(scenario_.workload.input) + longest_of(scenario_.workload.output);
    if (model.max_context > 0 && longest > model.max_context) {
      ConfigReader workload = top_.section("workload");
      workload.complain("output_length", "input and output together reach " +
                                             std::to_string(static_cast<std::int64_t>(longest)) +
                                             " tokens; the model's context is " +
                                             std::to_string(model.max_context));
    }
  }

  static double longest_of(const LengthConfig& length) {
    const bool upwards =
        length.law == LengthConfig::Law::vllm_uniform || length.law == LengthConfig::Law::jitter;
    return std::ceil(length.tokens * (upwards ? 1 + length.ratio : 1.0));
  }

  const ScenarioOptions& options_;
  ConfigReader top_;
  ConfigReader parallel_;
  ConfigReader hardware_;
  ConfigReader calibration_;
  Scenario scenario_;
  int suffix_tp_ = 0;
  bool model_known_ = false;
};

void collect_places(const ConfigNode& map, const std::string& path,
                    std::map<std::string, KeyPlace>* places) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const ConfigNode& child = map.children[i];
    const std::string key = path.empty() ? map.keys[i] : path + "." + map.keys[i];
    (*places)[key] = {child.file, child.line, child.column};
    collect_places(child, key, places);
  }
}

}  // namespace

ModelName split_model_name(const std::string& model) {
  const std::size_t dash = model.rfind("-tp");
  if (is_path(model) || dash == std::string::npos || dash == 0) return {model, 0};
  const auto tp = parse_integer(model.substr(dash + 3));
  if (!tp || *tp < 1 || *tp > kMostGpus) return {model, 0};
  return {model.substr(0, dash), static_cast<int>(*tp)};
}

std::vector<std::string> scenario_keys() {
  // The lengths as maps, so that their laws' keys are asked for as well.
  const ConfigNode root =
      parse_yaml("model: any\nworkload: {input_length: {law: ~}, output_length: {law: ~}}", "");
  ScenarioOptions options;
  options.load_model = [](const std::string&) { return ModelSpec{}; };
  return ScenarioReader(root, options).keys();
}

InputError located(const InputError& error, const Scenario& scenario) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    const bool of_scenario = problem.file.empty() || problem.file == scenario.file;
    if (problem.line > 0 || problem.key.empty() || !of_scenario) continue;
    auto place = scenario.places.find(problem.key);
    if (place == scenario.places.end()) {
      place = scenario.places.find(problem.key.substr(0, problem.key.rfind('.')));
    }
    if (place == scenario.places.end()) continue;
    problem.file = place->second.file;
    problem.line = place->second.line;
    problem.column = place->second.column;
  }
  return InputError(std::move(problems));
}

Scenario scenario_from(ConfigNode root, const std::string& file, const ScenarioOptions& options) {
  std::map<std::string, KeyPlace> places;
  collect_places(root, "", &places);
  Scenario scenario = ScenarioReader(std::move(root), options).read();
  scenario.file = file;
  scenario.places = std::move(places);
  return scenario;
}

Scenario read_scenario(const std::string& path, const ScenarioOptions& options) {
  ConfigNode root = read_with_bases(path);
  apply_assignments(options.sets, &root);
  Scenario scenario = scenario_from(std::move(root), path, options);
  scenario.question = first_comment(read_file(path));
  return scenario;
}

}  // namespace plateau
