#include <CLI/CLI.hpp>

#include "sim/cli/command_options.h"

namespace plateau {

void add_sets(CLI::App* command, CommonOptions* common) {
  command
      ->add_option("--set", common->sets,
                   "Set a scenario key: --set workload.concurrency=512 (may be repeated)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_json(CLI::App* command, std::string* json) {
  command
      ->add_option("--json", *json,
                   "Write the result as JSON to FILE, or to the standard output with -")
      ->type_name("FILE|-");
}

void add_common(CLI::App* command, CommonOptions* common) {
  add_sets(command, common);
  add_json(command, &common->json);
  command
      ->add_option("--seed", common->seed, "Seed of every random stream; wins over the scenario's")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{999'999'999'999'999'999}));
  command->add_flag("--strict", common->strict, "A warning is a refusal: exit code 3");
  command->add_flag("--quiet", common->quiet, "No warnings and no progress");
}

void add_scenario(CLI::App* command, std::string* scenario) {
  command->add_option("scenario", *scenario, "Scenario file (scenarios/*.yaml)")
      ->required()
      ->type_name("FILE");
}

}  // namespace plateau
