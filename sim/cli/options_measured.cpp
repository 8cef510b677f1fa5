#include <CLI/CLI.hpp>

#include "sim/cli/command_options.h"

namespace plateau {

void add_import_options(CLI::App* command, ImportArguments* arguments) {
  command
      ->add_option("files", arguments->files, "Files, plain or gzip, or folders of kernel tables")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--columns", arguments->columns,
                   "Names with units of a monitor CSV without a header: "
                   "'index,power.draw [W],clocks.sm [MHz]'")
      ->delimiter(',')
      ->type_name("NAMES")
      ->allow_extra_args(false);
  command
      ->add_option("--out", arguments->out,
                   "Measurement file, .csv or .json (default: measurement.csv, with --json none)")
      ->type_name("FILE");
  add_json(command, &arguments->common.json);
  command->add_flag("--strict", arguments->common.strict, "A warning is a refusal: exit code 3");
  command->add_flag("--quiet", arguments->common.quiet, "Do not tell what was recognised");
}

void add_scenario_options(CLI::App* command, ScenarioArguments* arguments) {
  command
      ->add_option("--from-command", arguments->command,
                   "SGLang or vLLM commands in one word, or a file that holds them")
      ->required()
      ->type_name("TEXT|FILE");
  command
      ->add_option("--bench", arguments->bench,
                   "The benchmark's command, or its file, when --from-command does not hold it")
      ->type_name("TEXT|FILE");
  command->add_option("--device,--gpu", arguments->device, "GPU, as in `plateau list devices`")
      ->type_name("NAME");
  command
      ->add_option("--engine-version", arguments->engine_version,
                   "Release or month of the engine, when no image tag tells it")
      ->type_name("VERSION");
  command->add_option("--out", arguments->out, "Scenario file (default: the standard output)")
      ->type_name("FILE");
  add_json(command, &arguments->common.json);
  command->add_flag("--strict", arguments->common.strict,
                    "An unknown or unmodelled flag is a refusal: exit code 3");
  command->add_flag("--quiet", arguments->common.quiet, "Do not tell what became of each flag");
}

void add_validate_options(CLI::App* command, ValidateArguments* arguments) {
  command
      ->add_option("measured", arguments->measured,
                   "Scenarios, folders of scenarios, or one CSV of measured rows")
      ->required()
      ->type_name("FILE");
  command->add_option("--base", arguments->base, "Scenario that each row of the CSV overlays")
      ->type_name("FILE");
  command
      ->add_option("--bars", arguments->bars,
                   "Exit with 4 unless the metric's MAPE is within: --bars step_ms=2")
      ->type_name("METRIC=PERCENT");
  command->add_option("--svg", arguments->svg, "Plot predicted against measured")
      ->type_name("FILE");
  add_common(command, &arguments->common);
}

namespace {

void add_calibrate_measured(CLI::App* command, CalibrateArguments* arguments) {
  CLI::Option* scenario =
      command->add_option("--scenario", arguments->scenario, "Scenario of the measured run");
  scenario->type_name("FILE");
  CLI::Option* measured =
      command->add_option("--measured", arguments->measured,
                          "Server logs, step traces, power logs and benchmark results of that run");
  measured->type_name("FILE")->needs(scenario);
  scenario->needs(measured);
  command
      ->add_option("--offset", arguments->offsets,
                   "Seconds to add to the clock of a file: --offset power.csv=-3600")
      ->type_name("FILE=SECONDS")
      ->allow_extra_args(false);
  command
      ->add_option("--utc-offset", arguments->utc_offset_h,
                   "Hours that the logs' local time is ahead of UTC")
      ->type_name("HOURS")
      ->check(CLI::Range(-14.0, 14.0));
  command
      ->add_option("--columns", arguments->columns,
                   "Names with units of a monitor CSV without a header")
      ->delimiter(',')
      ->type_name("NAMES")
      ->allow_extra_args(false);
  command->add_option("--name", arguments->name, "Name of the profile (default: the scenario's)")
      ->type_name("NAME");
  command
      ->add_option("--out", arguments->out,
                   "Write a scenario that uses the profile and the logged KV pool")
      ->type_name("FILE");
  command->add_option("--svg", arguments->svg, "Plot the residuals")->type_name("FILE");
  add_sets(command, &arguments->common);
  command->add_flag("--strict", arguments->common.strict,
                    "A contradiction is a refusal: exit code 3");
  command->add_flag("--quiet", arguments->common.quiet, "Print nothing");
}

void add_calibrate_tables(CLI::App* command, CalibrateArguments* arguments) {
  command->add_option("tables", arguments->tables, "Folder of tables: SYSTEM/ENGINE/OP.csv.gz")
      ->type_name("FOLDER");
  const auto add = [&](const char* name, std::string* value, const char* description) {
    command->add_option(name, *value, description)->type_name("TEXT");
  };
  add("--system", &arguments->system, "Folder of the tables, e.g. rtx_pro_6000_server");
  add("--engine", &arguments->engine, "Engine and version of the tables, e.g. sglang-0.5.14");
  add("--nccl", &arguments->nccl, "Collectives, e.g. nccl-2.29.2");
  add("--device", &arguments->device, "Device of the profile, with a device.yaml");
  add("--borrow", &arguments->borrow_from, "Engine whose tables stand in where this one has none");
  add("--source", &arguments->source, "Where the tables come from");
  add("--licence", &arguments->licence, "Their licence");
  add("--date", &arguments->date, "Their date");
}

void add_calibrate_power(CLI::App* command, CalibrateArguments* arguments) {
  const auto add = [&](const char* name, std::string* value, const char* description) {
    return command->add_option(name, *value, description);
  };
  add("--power-runs", &arguments->power_runs,
      "Watts against batch of each configuration in FILE, each batch left out once")
      ->type_name("FILE");
  add("--cap-sweep", &arguments->cap_sweep,
      "Clock law of a board from runs at several power limits, each workload left out once")
      ->type_name("FILE");
  add("--hold-out", &arguments->hold_out,
      "Column whose value is left out together (default: workload)")
      ->type_name("COLUMN");
  command->add_option("--where", arguments->where, "Rows of FILE with this value (repeatable)")
      ->type_name("COLUMN=VALUE")
      ->allow_extra_args(false);
}

// What tables need and logs do not.
void check_tables(const CalibrateArguments& arguments) {
  const std::pair<const char*, const std::string*> needed[] = {
      {"--system", &arguments.system}, {"--engine", &arguments.engine},
      {"--nccl", &arguments.nccl},     {"--device", &arguments.device},
      {"--source", &arguments.source}, {"--licence", &arguments.licence},
      {"--date", &arguments.date}};
  for (const auto& [name, value] : needed) {
    if (value->empty()) throw CLI::RequiredError(name);
  }
}

}  // namespace

void add_calibrate_options(CLI::App* command, CalibrateArguments* arguments) {
  add_calibrate_measured(command, arguments);
  add_calibrate_power(command, arguments);
  add_calibrate_tables(command, arguments);
  command->add_option("--into", arguments->into, "Folder of profiles (default: the shipped ones)")
      ->type_name("FOLDER");
  add_json(command, &arguments->common.json);
  command->parse_complete_callback([arguments] {
    if (!arguments->power_runs.empty() || !arguments->cap_sweep.empty()) return;
    if (!arguments->measured.empty()) return;
    if (arguments->tables.empty())
      throw CLI::RequiredError("--scenario with --measured, or a folder of kernel tables");
    check_tables(*arguments);
  });
}

}  // namespace plateau
