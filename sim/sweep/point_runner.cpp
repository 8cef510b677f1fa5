#include "sim/sweep/point_runner.h"

#include <fmt/format.h>

#include "calibration/csv.h"
#include "calibration/model_config.h"
#include "sim/deployment/remembered_costs.h"
#include "sim/interval/interval.h"
#include "sim/interval/noisy_costs.h"

namespace plateau {

namespace {

// How many laws and profiles a thread keeps: a sweep over seeds would otherwise keep one each.
constexpr std::size_t kMostKept = 128;
constexpr std::size_t kMostAssignments = 4096;

std::string profile_name(const Scenario& scenario) {
  const ProfileOptions options = profile_options(scenario, "");
  return fmt::format("{} {} {} {} {}", options.name, name_of(options.interconnect), options.ranks,
                     options.board, options.attention);
}

std::string routing_name(const Scenario& scenario) {
  const RoutingConfig& r = scenario.routing;
  const ModelSpec& m = scenario.model;
  return fmt::format("{} {} {} {} {} {} {} {} {} | {} {} {} | {}", static_cast<int>(r.law), r.alpha,
                     r.sigma_group, r.sigma_expert, r.groups, r.counts, r.trace, r.exact,
                     r.sample_layers, m.experts, m.top_k, m.moe_layers(), scenario.seed);
}

template <class Map>
void make_room(Map* map, std::size_t most) {
  if (map->size() >= most) map->clear();
}

}  // namespace

PointBase read_point_base(const std::string& path, const ScenarioOptions& options) {
  PointBase base;
  base.tree = read_with_bases(path);
  apply_assignments(options.sets, &base.tree);
  base.file = path;
  base.question = first_comment(read_file(path));
  base.seed = options.seed;
  base.data_dir = options.data_dir;
  return base;
}

ModelSpec SharedCalibration::model(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second;
  return models_.emplace(name, load_model(name, data_dir_)).first->second;
}

std::shared_ptr<const Profile> SharedCalibration::profile(const Scenario& scenario) {
  const std::string name = profile_name(scenario);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = profiles_.find(name);
  if (found != profiles_.end()) return found->second;
  return profiles_.emplace(name, load_profile_of(scenario, data_dir_)).first->second;
}

Scenario PointRunner::scenario(const std::vector<std::string>& sets) {
  ConfigNode tree = base_.tree;
  make_room(&assignments_, kMostAssignments);
  for (const std::string& text : sets) {
    auto found = assignments_.find(text);
    if (found == assignments_.end())
      found = assignments_.emplace(text, parse_assignment(text)).first;
    apply_assignment(found->second, &tree);
  }
  ScenarioOptions options;  // no data_dir: names are checked when they are loaded, once
  options.seed = base_.seed;
  options.load_model = [this](const std::string& model) { return calibration_.model(model); };
  Scenario scenario = scenario_from(std::move(tree), base_.file, options);
  scenario.question = base_.question;
  return scenario;
}

std::shared_ptr<const Profile> PointRunner::profile(const Scenario& scenario, int repetition) {
  std::string name = profile_name(scenario);
  if (repetition > 0) name += fmt::format(" {} {}", scenario.seed, repetition);
  const auto found = profiles_.find(name);
  if (found != profiles_.end()) return found->second;
  make_room(&profiles_, kMostKept);
  std::shared_ptr<const Profile> source = calibration_.profile(scenario);
  if (repetition > 0) {
    source =
        std::make_shared<NoisyCosts>(source, scenario.seed, static_cast<std::uint32_t>(repetition));
  }
  return profiles_.emplace(name, std::make_shared<RememberedCosts>(source)).first->second;
}

std::shared_ptr<ExpertRouting> PointRunner::routing(const Scenario& scenario, int repetition) {
  const std::string name = fmt::format("{} {}", routing_name(scenario), repetition);
  const auto found = routings_.find(name);
  if (found != routings_.end()) return found->second;
  make_room(&routings_, kMostKept);
  return routings_
      .emplace(name, std::make_shared<ExpertRouting>(repetition_routing(scenario, repetition)))
      .first->second;
}

Deployment PointRunner::deployment(const Scenario& scenario, int repetition) {
  return Deployment(scenario, profile(scenario, repetition), routing(scenario, repetition));
}

}  // namespace plateau
