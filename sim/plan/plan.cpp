#include "sim/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/interval/interval.h"
#include "sim/plan/evaluator.h"

namespace plateau {

namespace {

bool varies(const std::vector<std::string>& vary, const std::string& prefix) {
  return std::any_of(vary.begin(), vary.end(),
                     [&](const std::string& text) { return text.rfind(prefix, 0) == 0; });
}

// GPUs follow from parallel.* when those vary.
SweepRequest sweep_request(const PlanRequest& request, std::vector<std::string> vary) {
  SweepRequest sweep;
  sweep.scenario = request.scenario;
  sweep.options = request.options;
  if (varies(vary, "parallel.") && !varies(vary, "hardware.count"))
    sweep.options.sets.emplace_back("hardware.count=~");
  sweep.space = request.space;
  sweep.space.vary = std::move(vary);
  return sweep;
}

// Most tok/s, fewest watts, least TPOT p50.
std::vector<Candidate> pareto_of(std::vector<Candidate> runs) {
  const std::size_t tokens = metric_index("output_tok_per_s");
  const std::size_t watts = metric_index("node_w");
  const std::size_t tpot = metric_index("tpot_p50_ms");
  std::stable_sort(runs.begin(), runs.end(), [&](const Candidate& a, const Candidate& b) {
    return a.metrics[tokens] > b.metrics[tokens];
  });
  std::vector<Candidate> front;
  for (Candidate& run : runs) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](const Candidate& other) {
      return other.metrics[watts] <= run.metrics[watts] &&
             !(other.metrics[tpot] > run.metrics[tpot]);
    });
    if (!beaten) front.push_back(std::move(run));
  }
  return front;
}

std::vector<LimitExcess> excesses_of(const PlanGoal& goal, const std::vector<Candidate>& runs) {
  std::vector<LimitExcess> all;
  for (const PlanLimit& limit : goal.limits) {
    LimitExcess excess;
    excess.limit = limit.text;
    excess.metric = metric_names()[limit.metric];
    excess.least = std::numeric_limits<double>::infinity();
    for (const Candidate& run : runs) {
      if (!run.ok || limit.excess(run.metrics) >= excess.least) continue;
      excess.least = limit.excess(run.metrics);
      excess.value = run.metrics[limit.metric];
    }
    excess.excludes_all = excess.least > 0;
    all.push_back(excess);
  }
  return all;
}

void add_noise(Evaluator& evaluator, PlanResult* result) {
  if (result->repetitions == 0 || result->best.empty()) return;
  const auto scores = evaluator.repeat(result->best, result->repetitions);
  for (std::size_t i = 0; i < result->best.size(); ++i) {
    PlanOption& option = result->best[i];
    std::vector<double> own = scores[i];
    if (!result->goal.largest)
      for (double& score : own) score = -score;
    option.score = interval_of(std::move(own));
    std::vector<double> lead;
    for (std::size_t r = 0; r < scores[i].size(); ++r) lead.push_back(scores[0][r] - scores[i][r]);
    const auto difference = interval_of(std::move(lead));
    option.within_noise = i > 0 && difference && difference->low <= 0;
  }
}

std::vector<std::string> space_of(const PlanRequest& request, const Scenario& scenario) {
  if (!request.space.vary.empty() || request.space.way == SpaceRequest::Way::list)
    return request.space.vary;
  const auto profile = load_profile_of(scenario, request.options.data_dir);
  std::vector<std::string> profiles;
  for (const ProfileName& name : list_profiles(request.options.data_dir))
    profiles.push_back(name.name);
  return default_space(scenario, request.goal.minimise, profile->clock(),
                       profile->device().power_limit_w, profiles);
}

// "parallel.tp=2,4": per key the values of `points` that differ from those of `first`.
std::vector<std::string> sets_in_common(const Sweep& sweep, std::int64_t first,
                                        const std::vector<std::int64_t>& points) {
  const std::vector<std::string> own = sweep.space().values(first);
  std::vector<std::string> sets;
  for (std::size_t k = 0; k < own.size(); ++k) {
    std::vector<std::string> values;
    for (const std::int64_t point : points) {
      const std::string value = sweep.space().values(point)[k];
      if (value != own[k] && std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
    }
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
    if (!values.empty()) sets.push_back(sweep.space().keys()[k].key + "=" + text);
  }
  return sets;
}

// What the model is called where the point is described: a shipped spec or a path.
std::string model_of(const PointBase& base, const std::vector<std::string>& sets) {
  const ConfigNode* node = base.tree.find("model");
  std::string text = node == nullptr ? "" : node->text;
  for (const std::string& set : sets) {
    if (set.rfind("model=", 0) == 0) text = set.substr(6);
  }
  return text;
}

// The same to the last digit, but for the pool that is left over.
bool same_figures(const Metrics& a, const Metrics& b) {
  static const std::size_t kPool[] = {metric_index("kv_capacity_tokens"),
                                      metric_index("kv_wall_requests"),
                                      metric_index("gpu_memory_bytes")};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool pool = std::find(std::begin(kPool), std::end(kPool), i) != std::end(kPool);
    const bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!pool && !equal) return false;
  }
  return true;
}

// The best points, best first; those with the very same figures (a power limit that never binds, a
// cap above the wall) are one answer.
void take_best(Evaluator& evaluator, Sweep& sweep, const std::vector<Candidate>& kept, int most,
               PlanResult* result) {
  for (const Candidate& run : kept) {
    if (!result->best.empty() && same_figures(result->best.back().run.metrics, run.metrics)) {
      result->best.back().same.push_back(run.point);
      continue;
    }
    if (result->best.size() == static_cast<std::size_t>(most)) break;
    PlanOption option;
    option.run = run;
    option.sets = evaluator.sets_of(run);
    option.command =
        launch_command(evaluator.scenario_of(option.sets), model_of(sweep.base(), option.sets));
    result->best.push_back(std::move(option));
  }
  for (PlanOption& option : result->best) {
    option.same_sets = sets_in_common(sweep, option.run.point, option.same);
    for (const std::string& warning : evaluator.warnings_of(option.sets)) {
      auto& all = result->warnings;
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
    }
  }
}

}  // namespace

PlanResult plan(const PlanRequest& request) {
  const Scenario scenario = read_scenario(request.scenario, request.options);
  PlanResult result;
  result.goal = read_goal(request.goal, scenario.limits,
                          scenario.workload.client != WorkloadConfig::Client::closed_loop);
  if (result.goal.objective == "cost_per_million_tokens" && !scenario.prices) {
    throw InputError(Problem{scenario.file, 0, 0, "cost", "is missing: nothing here has a price",
                             "write `cost: {gpu_hour: 2.5 USD}` (docs/workloads.md)"});
  }
  Sweep sweep(sweep_request(request, space_of(request, scenario)));
  result.question = scenario.question;
  result.space = sweep.space();
  result.repetitions = request.repetitions;
  Evaluator evaluator(sweep, result.goal, request.threads, request.progress);
  result.search = search(sweep.space(), result.goal, evaluator.evaluation(), request.search);
  std::vector<Candidate> kept;
  for (const Candidate& run : result.search.runs) {
    if (!run.ok) {
      ++result.infeasible;
      if (result.first_reason.empty()) result.first_reason = run.reason;
    } else if (result.goal.excess(run.metrics) <= 0) {
      kept.push_back(run);
    }
  }
  result.limits = excesses_of(result.goal, result.search.runs);
  result.pareto = pareto_of(kept);
  std::sort(kept.begin(), kept.end(),
            [&](const Candidate& a, const Candidate& b) { return better(result.goal, a, b); });
  take_best(evaluator, sweep, kept, request.best, &result);
  add_noise(evaluator, &result);
  return result;
}

}  // namespace plateau
