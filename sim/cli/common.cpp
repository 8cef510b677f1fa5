#include <ostream>

#include "calibration/csv.h"
#include "sim/cli/commands.h"

namespace plateau {

ScenarioOptions scenario_options(const CommonOptions& common, const Terminal& terminal) {
  ScenarioOptions options;
  options.data_dir = terminal.data_dir;
  options.sets = common.sets;
  options.seed = common.seed;
  return options;
}

TextOptions text_options(const Terminal& terminal) {
  TextOptions options;
  options.colour = terminal.colour;
  return options;
}

bool refused(const std::vector<std::string>& warnings, const CommonOptions& common,
             const Terminal& terminal) {
  if (!common.strict || warnings.empty()) return false;
  for (const std::string& warning : warnings)
    *terminal.err << "refused by --strict: " << warning << "\n";
  return true;
}

void write_json(const std::string& json, const std::string& where, const Terminal& terminal) {
  if (where == "-") {
    *terminal.out << json;
  } else {
    write_file(where, json);
  }
}

}  // namespace plateau
