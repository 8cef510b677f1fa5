// `plateau step`: what one engine step costs, operation by operation.
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

namespace {

StepReport price(const Scenario& scenario, const StepArguments& arguments,
                 const Terminal& terminal) try {
  Deployment deployment(scenario, terminal.data_dir);
  return arguments.prefill ? prefill_step(deployment, arguments.batch, arguments.context)
                           : decode_step(deployment, arguments.batch, arguments.context);
} catch (const InputError& error) {
  throw located(error, scenario);
}

}  // namespace

int step_command(const StepArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  const Scenario scenario = read_scenario(arguments.scenario, scenario_options(common, terminal));
  StepReport report = price(scenario, arguments, terminal);
  if (refused(report.warnings, common, terminal)) return kRefused;
  if (!common.json.empty()) write_json(step_json(report), common.json, terminal);
  if (common.quiet) report.warnings.clear();  // of the page; JSON keeps them
  if (common.json != "-") *terminal.out << step_text(report, text_options(terminal));
  return kDone;
}

}  // namespace plateau
