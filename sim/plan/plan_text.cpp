#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/plan/plan.h"

namespace plateau {

namespace {

double at(const Metrics& metrics, const char* name) { return metrics[metric_index(name)]; }

std::string shown(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "-";
}

std::string figures_line(const Metrics& m) {
  return fmt::format("{} tok/s, {} GPUs, {} W/GPU, {} J/token, TTFT p99 {} ms, TPOT p50 {} ms",
                     shown(at(m, "output_tok_per_s"), 0), shown(at(m, "gpus"), 0),
                     shown(at(m, "gpu_w_mean"), 1), shown(at(m, "j_per_output_token"), 3),
                     shown(at(m, "ttft_p99_ms"), 0), shown(at(m, "tpot_p50_ms"), 1));
}

std::string option_text(const PlanGoal& goal, const PlanOption& option, std::size_t rank) {
  std::string text = fmt::format("{}.", rank);
  for (const std::string& set : option.sets) text += " " + set;
  text += "\n   " + figures_line(option.run.metrics) + "\n";
  if (goal.objective == "request_rate")
    text += fmt::format("   sustains {:.4g} requests/s\n", at(option.run.metrics, "request_rate"));
  if (option.score) {
    text +=
        fmt::format("   {} p5-p95 {:.6g} to {:.6g}{}\n", goal.objective, option.score->low,
                    option.score->high, option.within_noise ? ": within noise of the first" : "");
  }
  if (!option.command.empty()) text += "   " + option.command + "\n";
  return text;
}

std::string excess_text(const LimitExcess& excess) {
  return fmt::format(
      "{}: the closest point has {} = {:.6g}, {} off\n", excess.limit, excess.metric, excess.value,
      std::isfinite(excess.least) ? fmt::format("{:.3g} %", 100 * excess.least) : "infinitely");
}

std::string refusal_text(const PlanResult& result) {
  const bool ran = std::any_of(result.search.runs.begin(), result.search.runs.end(),
                               [](const Candidate& run) { return run.ok; });
  if (!ran) return "no point can run: " + result.first_reason + "\n";
  std::string text = "no point keeps the limits\n";
  bool one = false;
  for (const LimitExcess& excess : result.limits) {
    if (!excess.excludes_all) continue;
    one = true;
    text += "excluded by " + excess_text(excess);
  }
  if (one) return text;
  const auto closest = std::min_element(
      result.search.runs.begin(), result.search.runs.end(),
      [&](const Candidate& a, const Candidate& b) { return better(result.goal, a, b); });
  text += "each limit alone can be kept; the closest point to all breaks";
  for (const PlanLimit& limit : result.goal.limits) {
    if (limit.excess(closest->metrics) > 0)
      text += fmt::format(" {} by {:.3g} %", limit.text, 100 * limit.excess(closest->metrics));
  }
  return text + "\n";
}

}  // namespace

std::string plan_text(const PlanRequest&, const PlanResult& result) {
  const SearchResult& search = result.search;
  std::string text = fmt::format(
      "{} {} over {} points: {} simulated ({} search, {} steps{})\n",
      result.goal.largest ? "maximise" : "minimise", result.goal.objective,
      count_text(static_cast<double>(result.points)),
      count_text(static_cast<double>(search.runs.size())), search.method, count_text(search.steps),
      search.method == "guided"
          ? fmt::format(" and {} priced, of about {} for all", count_text(search.priced),
                        count_text(search.steps_of_all))
          : "");
  for (const PlanLimit& limit : result.goal.limits) text += "limit: " + limit.text + "\n";
  if (result.infeasible > 0)
    text += fmt::format("{} of them cannot run, the first because {}\n", result.infeasible,
                        result.first_reason);
  if (result.best.empty()) return text + refusal_text(result);
  text += "\n";
  for (std::size_t i = 0; i < result.best.size(); ++i)
    text += option_text(result.goal, result.best[i], i + 1);
  text += fmt::format("\nPareto front (tok/s, W, TPOT): {} points\n", result.pareto.size());
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(kMost, result.pareto.size()); ++i)
    text += fmt::format("   point {}: {}\n", result.pareto[i].point,
                        figures_line(result.pareto[i].metrics));
  return text;
}

}  // namespace plateau
