// `plateau validate`: predictions beside measurements, with bars that a script can test.
#include <ostream>

#include "calibration/csv.h"
#include "sim/cli/commands.h"
#include "sim/validate/validation.h"

namespace plateau {

int validate_command(const ValidateArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  ValidationOptions options;
  options.measured = arguments.measured;
  options.base = arguments.base;
  options.data_dir = terminal.data_dir;
  options.sets = common.sets;
  if (common.seed) options.sets.push_back("seed=" + std::to_string(*common.seed));
  const Validation validation = validate(options);
  const std::vector<std::string> missed = missed_bars(validation, arguments.bars);
  if (refused(validation.warnings, common, terminal)) return kRefused;
  if (!arguments.svg.empty()) write_file(arguments.svg, validation_svg(validation));
  if (!common.json.empty()) write_json(validation_json(validation), common.json, terminal);
  if (common.json != "-") *terminal.out << validation_text(validation);
  for (const std::string& miss : missed) *terminal.err << "missed: " << miss << '\n';
  return missed.empty() ? kDone : kMissed;
}

}  // namespace plateau
