// The options of each command: how its words are spelled and which argument they set.
//
// CLI11 is heavy, so that only command_line.cpp and the options_*.cpp include it.
#pragma once

#include "sim/cli/commands.h"

namespace CLI {
class App;
}

namespace plateau {

// options_common.cpp: what several commands share.
void add_sets(CLI::App* command, CommonOptions* common);
void add_json(CLI::App* command, std::string* json);
void add_common(CLI::App* command, CommonOptions* common);
void add_scenario(CLI::App* command, std::string* scenario);

// options_simulate.cpp: one scenario, one step, two scenarios, what there is.
void add_run_options(CLI::App* command, RunArguments* arguments);
void add_step_options(CLI::App* command, StepArguments* arguments);
void add_explain_options(CLI::App* command, ExplainArguments* arguments);
void add_list_options(CLI::App* command, ListArguments* arguments);

// options_search.cpp: many points.
void add_sweep_options(CLI::App* command, SweepArguments* arguments);
void add_plan_options(CLI::App* command, PlanArguments* arguments);

// options_measured.cpp: logs, launch commands and measurements.
void add_import_options(CLI::App* command, ImportArguments* arguments);
void add_scenario_options(CLI::App* command, ScenarioArguments* arguments);
void add_validate_options(CLI::App* command, ValidateArguments* arguments);
void add_calibrate_options(CLI::App* command, CalibrateArguments* arguments);

}  // namespace plateau
