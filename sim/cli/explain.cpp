// `plateau explain`: why two scenarios differ.
#include "sim/explain/explain.h"

#include <ostream>

#include "sim/cli/commands.h"

namespace plateau {

namespace {

RunSummary summary_of(const std::string& scenario, const std::vector<std::string>& sets,
                      const CommonOptions& common, const Terminal& terminal) {
  ScenarioOptions options = scenario_options(common, terminal);
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  Deployment deployment(read_scenario(scenario, options), terminal.data_dir);
  RunSummary summary = summarise(deployment);
  summary.sets = sets;
  return summary;
}

}  // namespace

int explain_command(const ExplainArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  Explanation explanation =
      explain(summary_of(arguments.scenario_a, arguments.sets_a, common, terminal),
              summary_of(arguments.scenario_b, arguments.sets_b, common, terminal));
  if (refused(explanation.warnings, common, terminal)) return kRefused;
  if (!common.json.empty()) write_json(explain_json(explanation), common.json, terminal);
  if (common.quiet) explanation.warnings.clear();  // of the page; JSON keeps them
  if (common.json != "-") *terminal.out << explain_text(explanation, text_options(terminal));
  return kDone;
}

}  // namespace plateau
