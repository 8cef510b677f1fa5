// `plateau plan`: the best configuration of a scenario under limits.
#include <algorithm>
#include <ostream>
#include <thread>

#include "sim/cli/commands.h"
#include "sim/plan/plan.h"

namespace plateau {

int plan_command(const PlanArguments& arguments, const Terminal& terminal) {
  PlanRequest request;
  request.scenario = arguments.scenario;
  request.options = scenario_options(arguments.common, terminal);
  request.space.vary = arguments.vary;
  request.space.way = arguments.random > 0 ? SpaceRequest::Way::random : SpaceRequest::Way::grid;
  request.space.samples = arguments.random;
  request.goal = {arguments.maximise, arguments.minimise, arguments.limits};
  if (arguments.exhaustive) request.search.exhaustive = PointSpace::kMostPoints;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.threads = arguments.threads > 0 ? arguments.threads : cores;
  request.repetitions = arguments.repetitions;
  request.best = arguments.best;
  const PlanResult result = plan(request);
  if (!arguments.common.json.empty())
    write_json(plan_json(request, result), arguments.common.json, terminal);
  if (arguments.common.json != "-") *terminal.out << plan_text(request, result);
  return result.best.empty() ? kMissed : kDone;
}

}  // namespace plateau
