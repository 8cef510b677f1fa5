// `plateau calibrate`: from what, and so by which command.
#include "sim/cli/commands.h"

namespace plateau {

int calibrate_command(const CalibrateArguments& arguments, const Terminal& terminal) {
  if (!arguments.power_runs.empty() || !arguments.cap_sweep.empty())
    return calibrate_power_command(arguments, terminal);
  return arguments.measured.empty() ? calibrate_tables_command(arguments, terminal)
                                    : calibrate_measured_command(arguments, terminal);
}

}  // namespace plateau
