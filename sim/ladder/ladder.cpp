#include "sim/ladder/ladder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "sim/deployment/run.h"
#include "sim/ladder/knobs.h"

namespace plateau {

namespace {

using Sets = std::vector<std::string>;

constexpr int kClimb = 4;                // rungs of the climb at most
constexpr double kWorthClimbing = 1e-3;  // of tok/s

// Runs the scenario under more sets, each set of sets once. The ladder's sets change neither the
// profile nor the routing, so both are loaded once.
class Resimulation {
 public:
  Resimulation(const std::string& path, const ScenarioOptions& options)
      : path_(path),
        options_(options),
        base_(read_scenario(path, options)),
        profile_(load_profile_of(base_, options.data_dir)),
        routing_(std::make_shared<ExpertRouting>(make_routing(base_))) {}

  Deployment deployment() const { return Deployment(base_, profile_, routing_); }

  // The report, or why the scenario refuses these sets.
  struct Outcome {
    std::optional<Report> report;
    std::string refusal;
  };
  const Outcome& run_with(const Sets& sets) {
    const auto [found, is_new] = outcomes_.try_emplace(sets);
    if (is_new) found->second = simulate(sets);
    return found->second;
  }

 private:
  Outcome simulate(const Sets& sets) const {
    ScenarioOptions options = options_;
    options.sets.insert(options.sets.end(), sets.begin(), sets.end());
    try {
      Deployment changed(read_scenario(path_, options), profile_, routing_);
      return {run(changed), ""};
    } catch (const InputError& error) {
      const Problem& problem = error.problems().front();
      return {std::nullopt, problem.key + ": " + problem.message};
    }
  }

  std::string path_;
  ScenarioOptions options_;
  Scenario base_;
  std::shared_ptr<const Profile> profile_;
  std::shared_ptr<ExpertRouting> routing_;
  std::map<Sets, Outcome> outcomes_;
};

Sets joined(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

void add_marginal(const Knob& knob, Resimulation& again, LadderRung* rung) {
  if (knob.nudge.empty()) return;
  rung->unit = knob.unit;
  rung->marginal_amount = knob.amount;
  rung->marginal_from = knob.nudge_from;
  rung->marginal_sets = knob.nudge;
  const auto& from = again.run_with(knob.nudge_from).report;
  const auto& nudged = again.run_with(knob.nudge).report;
  if (!from || !nudged) return;
  rung->marginal =
      (nudged->throughput.output_tok_per_s - from->throughput.output_tok_per_s) / knob.amount;
  const auto& steady = nudged->steady_state.output_tok_per_s;
  const auto& steady_from = from->steady_state.output_tok_per_s;
  if (steady && steady_from) rung->marginal_steady = (*steady - *steady_from) / knob.amount;
}

LadderRung rung_of(const Knob& knob, double base, Resimulation& again) {
  LadderRung rung;
  rung.constraint = knob.constraint;
  rung.change = knob.change;
  rung.sets = knob.relax;
  rung.hypothetical = is_hypothetical(knob.relax);
  rung.price = knob.price;
  const auto& outcome = again.run_with(knob.relax);
  rung.not_run = outcome.refusal;
  if (outcome.report) {
    const Report& relaxed = *outcome.report;
    rung.tok_per_s_if_relaxed = relaxed.throughput.output_tok_per_s;
    rung.gain = relaxed.throughput.output_tok_per_s - base;
    rung.steady_tok_per_s_if_relaxed = relaxed.steady_state.output_tok_per_s;
    rung.tpot_ms_if_relaxed = relaxed.latency_ms.tpot.mean;
    rung.gpu_w_mean_if_relaxed = relaxed.power.gpu_w_mean;
    rung.binds_next = relaxed.binding.constraint;
    for (const Bound& bound : relaxed.bounds) {
      if (!bound.holds) rung.breaks.push_back(bound.name);
    }
  }
  add_marginal(knob, again, &rung);
  return rung;
}

std::vector<LadderStep> climb(std::vector<Knob> knobs, double base, Resimulation& again) {
  std::vector<LadderStep> steps;
  Sets sets;
  double reached = base;
  while (static_cast<int>(steps.size()) < kClimb) {
    auto best = knobs.end();
    double most = reached * (1 + kWorthClimbing);
    for (auto knob = knobs.begin(); knob != knobs.end(); ++knob) {
      if (knob->price) continue;
      const auto& report = again.run_with(joined(sets, knob->relax)).report;
      if (!report || report->throughput.output_tok_per_s <= most) continue;
      most = report->throughput.output_tok_per_s;
      best = knob;
    }
    if (best == knobs.end()) break;
    sets = joined(sets, best->relax);
    const Report& report = *again.run_with(sets).report;
    reached = report.throughput.output_tok_per_s;
    steps.push_back({best->constraint, best->change, sets, reached, report.power.gpu_w_mean,
                     report.binding.constraint});
    knobs.erase(best);
  }
  return steps;
}

}  // namespace

void add_ladder(const std::string& path, const ScenarioOptions& options, Report* report) {
  Resimulation again(path, options);
  Deployment deployment = again.deployment();
  const std::vector<Knob> knobs = knobs_of(deployment, *report);
  const double base = report->throughput.output_tok_per_s;
  std::vector<LadderRung>& ladder = report->binding.ladder;
  ladder.clear();
  for (const Knob& knob : knobs) ladder.push_back(rung_of(knob, base, again));
  std::stable_sort(ladder.begin(), ladder.end(), [](const LadderRung& a, const LadderRung& b) {
    return a.gain && (!b.gain || *a.gain > *b.gain);
  });
  report->binding.climb = climb(knobs, base, again);
}

}  // namespace plateau
