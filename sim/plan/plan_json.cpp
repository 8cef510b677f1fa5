#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/plan/plan.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (std::size_t i = 0; i < metrics.size(); ++i) json[metric_names()[i]] = number(metrics[i]);
  return json;
}

Json set_json(const std::vector<std::string>& sets) {
  Json json = Json::object();
  for (const std::string& set : sets) {
    const std::size_t equals = set.find('=');
    json[set.substr(0, equals)] = set.substr(equals + 1);
  }
  return json;
}

std::vector<std::string> values_of(const PlanResult& result, std::int64_t point) {
  std::vector<std::string> sets = result.space->values(point);
  for (std::size_t k = 0; k < sets.size(); ++k)
    sets[k] = result.space->keys()[k].key + "=" + sets[k];
  return sets;
}

Json option_json(const PlanOption& option) {
  Json json;
  json["point"] = option.run.point;
  json["set"] = set_json(option.sets);
  json["same_figures_with"] = set_json(option.same_sets);
  json["launch_command"] = option.command.empty() ? Json(nullptr) : Json(option.command);
  json["objective_interval"] =
      option.score ? Json::array({number(option.score->low), number(option.score->high)})
                   : Json(nullptr);
  json["within_noise_of_best"] = option.within_noise;
  json["figures"] = metrics_json(option.run.metrics);
  return json;
}

Json limits_json(const PlanResult& result) {
  Json json = Json::array();
  for (const LimitExcess& excess : result.limits) {
    json.push_back({{"limit", excess.limit},
                    {"metric", excess.metric},
                    {"closest", number(excess.value)},
                    {"least_excess", number(excess.least)},
                    {"excludes_all", excess.excludes_all}});
  }
  return json;
}

Json search_json(const PlanResult& result) {
  return {{"method", result.search.method},
          {"points_simulated", result.search.runs.size()},
          {"steps_simulated", number(result.search.steps)},
          {"steps_priced", number(result.search.priced)},
          {"steps_of_all_points", number(result.search.steps_of_all)}};
}

}  // namespace

std::string plan_json(const PlanRequest& request, const PlanResult& result) {
  Json json;
  json["schema"] = "plateau-plan/1";
  json["scenario"] = request.scenario;
  json["objective"] = {{"name", result.goal.objective},
                       {"metric", metric_names()[result.goal.metric]},
                       {"direction", result.goal.largest ? "maximise" : "minimise"}};
  Json vary = Json::object();
  for (const Variation& key : result.space->keys()) vary[key.key] = key.values;
  json["vary"] = std::move(vary);
  json["points"] = result.space->size();
  json["search"] = search_json(result);
  json["infeasible"] = result.infeasible;
  json["limits"] = limits_json(result);
  json["feasible"] = !result.best.empty();
  Json best = Json::array();
  for (const PlanOption& option : result.best) best.push_back(option_json(option));
  json["best"] = std::move(best);
  Json pareto = Json::array();
  for (const Candidate& run : result.pareto)
    pareto.push_back({{"point", run.point},
                      {"set", set_json(values_of(result, run.point))},
                      {"figures", metrics_json(run.metrics)}});
  json["pareto"] = std::move(pareto);
  json["repetitions"] = result.repetitions;
  json["warnings"] = result.warnings;
  json["version"] = PLATEAU_VERSION;
  return json.dump(2) + "\n";
}

}  // namespace plateau
