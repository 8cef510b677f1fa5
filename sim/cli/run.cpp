// `plateau run`: a scenario, simulated and reported.
#include "sim/deployment/run.h"

#include <memory>
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/progress.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

namespace {

Report simulate(const Scenario& scenario, const CommonOptions& common,
                const Terminal& terminal) try {
  Deployment deployment(scenario, terminal.data_dir);
  RunOptions options;
  std::unique_ptr<Progress> progress;
  if (terminal.interactive && !common.quiet) {
    progress = std::make_unique<Progress>(terminal.err, scenario.workload.requests);
    options.observers.push_back(progress.get());
  }
  return run(deployment, options);
} catch (const InputError& error) {
  throw located(error, scenario);
}

}  // namespace

int run_command(const RunArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  const Scenario scenario = read_scenario(arguments.scenario, scenario_options(common, terminal));
  Report report = simulate(scenario, common, terminal);
  if (refused(report.warnings, common, terminal)) return kRefused;
  if (!common.json.empty()) write_json(report_json(report), common.json, terminal);
  if (common.quiet) report.warnings.clear();  // of the page; JSON keeps them
  if (common.json != "-") *terminal.out << report_text(report, text_options(terminal));
  return kDone;
}

}  // namespace plateau
