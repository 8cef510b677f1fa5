// `plateau validate`: predictions beside measurements, with bars that a script can test.
#include <algorithm>
#include <ostream>

#include "calibration/csv.h"
#include "sim/cli/commands.h"
#include "sim/validate/measured_block.h"

namespace plateau {

namespace {

Validation validate_table(const ValidateArguments& arguments, const std::string& data_dir,
                          const std::vector<std::string>& sets) {
  if (arguments.measured.size() > 1) {
    throw InputError(Problem{arguments.measured.front(), 0, 0, "measured",
                             "several files are given, and not all of them are scenarios",
                             "give one table of measured rows at a time"});
  }
  if (arguments.base.empty()) {
    throw InputError(Problem{arguments.measured.front(), 0, 0, "--base",
                             "a table of measured rows needs a scenario that they overlay",
                             "plateau validate MEASURED.csv --base SCENARIO.yaml"});
  }
  ValidationOptions options;
  options.measured = arguments.measured.front();
  options.base = arguments.base;
  options.data_dir = data_dir;
  options.sets = sets;
  return validate(options);
}

Validation validated(const ValidateArguments& arguments, const std::string& data_dir) {
  std::vector<std::string> sets = arguments.common.sets;
  if (arguments.common.seed) sets.push_back("seed=" + std::to_string(*arguments.common.seed));
  const bool scenarios =
      std::all_of(arguments.measured.begin(), arguments.measured.end(), is_scenario_path);
  if (!scenarios) return validate_table(arguments, data_dir, sets);
  if (!arguments.base.empty()) {
    throw InputError(Problem{arguments.measured.front(), 0, 0, "--base",
                             "a scenario is its own base", "leave --base out"});
  }
  return validate_scenarios({arguments.measured, data_dir, sets});
}

}  // namespace

int validate_command(const ValidateArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  Validation validation = validated(arguments, terminal.data_dir);
  const std::vector<std::string> missed = missed_bars(validation, arguments.bars);
  if (refused(validation.warnings, common, terminal)) return kRefused;
  if (!arguments.svg.empty()) write_file(arguments.svg, validation_svg(validation));
  if (!common.json.empty()) write_json(validation_json(validation), common.json, terminal);
  if (common.quiet) validation.warnings.clear();  // of the text; JSON keeps them
  if (common.json != "-") *terminal.out << validation_text(validation);
  for (const std::string& miss : missed) *terminal.err << "missed: " << miss << '\n';
  return missed.empty() ? kDone : kMissed;
}

}  // namespace plateau
