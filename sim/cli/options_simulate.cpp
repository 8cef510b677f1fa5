#include <CLI/CLI.hpp>

#include "sim/cli/command_options.h"

namespace plateau {

void add_run_options(CLI::App* command, RunArguments* arguments) {
  add_scenario(command, &arguments->scenario);
  command
      ->add_option("--html", arguments->html,
                   "Write the report as one HTML page to FILE, with charts and a batch slider")
      ->type_name("FILE");
  command
      ->add_option("--trace", arguments->trace,
                   "Write the steps and requests to FILE as a trace for ui.perfetto.dev")
      ->type_name("FILE");
  command->add_option("--requests-csv", arguments->requests_csv, "Write a row per request to FILE")
      ->type_name("FILE");
  command->add_flag("--ladder", arguments->ladder,
                    "Relax each limit in turn and run again: what it would give, what binds next");
  add_common(command, &arguments->common);
}

void add_step_options(CLI::App* command, StepArguments* arguments) {
  add_scenario(command, &arguments->scenario);
  command->add_option("--batch", arguments->batch, "Requests in the step")
      ->required()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--ctx", arguments->context, "Tokens that each request holds")
      ->required()
      ->check(CLI::Range(0, 10'000'000));
  command->add_flag("--prefill", arguments->prefill,
                    "A prefill step of --batch prompts of --ctx tokens");
  add_common(command, &arguments->common);
}

void add_explain_options(CLI::App* command, ExplainArguments* arguments) {
  command->add_option("a", arguments->scenario_a, "Scenario A")->required()->type_name("FILE");
  command->add_option("b", arguments->scenario_b, "Scenario B")->required()->type_name("FILE");
  const auto add_sets_of = [&](const char* name, std::vector<std::string>* sets,
                               const char* description) {
    command->add_option(name, *sets, description)->type_name("KEY=VALUE")->allow_extra_args(false);
  };
  add_sets_of("--set-a", &arguments->sets_a, "Set a key of scenario A only (may be repeated)");
  add_sets_of("--set-b", &arguments->sets_b, "Set a key of scenario B only (may be repeated)");
  add_common(command, &arguments->common);
}

void add_list_options(CLI::App* command, ListArguments* arguments) {
  command
      ->add_option("what", arguments->what,
                   "Only one of models, devices, profiles, schedulers, routing_laws")
      ->check(CLI::IsMember({"models", "devices", "profiles", "schedulers", "routing_laws"}));
  add_json(command, &arguments->json);
}

}  // namespace plateau
