#include <algorithm>
#include <cmath>

#include "sim/plan/plan.h"
#include "sim/report/page.h"
#include "sim/sweep/figures.h"

namespace plateau {

namespace {

constexpr std::int64_t kMostRows = 20'000;

std::string goal_text(const PlanGoal& goal) {
  std::string text = std::string(goal.largest ? "Maximise " : "Minimise ") + goal.objective;
  for (const PlanLimit& limit : goal.limits) text += ", " + limit.text;
  return text;
}

}  // namespace

std::string plan_page(const PlanRequest& request, const PlanResult& result) {
  SweepPage page;
  page.title = request.scenario;
  page.question = result.question;
  page.infeasible = result.infeasible;
  for (const Variation& key : result.space->keys())
    page.columns.push_back({key.key, SweepColumn::Kind::varied});
  for (const std::string& name : metric_names())
    page.columns.push_back({name, SweepColumn::Kind::figure});
  page.columns.push_back({"limits", SweepColumn::Kind::word});
  const auto count = static_cast<std::int64_t>(result.search.runs.size());
  const std::int64_t every = std::max<std::int64_t>(1, (count + kMostRows - 1) / kMostRows);
  for (std::int64_t i = 0; i < count; i += every) {
    const Candidate& run = result.search.runs[static_cast<std::size_t>(i)];
    if (!run.ok) continue;
    std::vector<std::string> cells = result.space->values(run.point);
    for (const double value : run.metrics)
      cells.push_back(std::isfinite(value) ? digits_of(value) : "");
    cells.emplace_back(result.goal.excess(run.metrics) <= 0 ? "kept" : "broken");
    page.rows.push_back(std::move(cells));
  }
  page.notes.push_back(goal_text(result.goal) + ".");
  page.notes.push_back(std::to_string(count) + " of " + std::to_string(result.space->size()) +
                       " points were simulated (" + result.search.method + " search).");
  if (!result.best.empty()) {
    std::string best = "Best:";
    for (const std::string& set : result.best.front().sets) best += " " + set;
    page.notes.push_back(best);
  }
  return sweep_html(page);
}

}  // namespace plateau
