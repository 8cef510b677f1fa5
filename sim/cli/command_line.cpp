// Words to commands. CLI11 is heavy, so this is the one file that includes it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <ostream>

#include "calibration/input_error.h"
#include "sim/cli/commands.h"

namespace plateau {

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 our fault, 2 the input is wrong, 3 refused by --strict, 4 the answer "
    "does not meet what was "
    "asked.";

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

// The commands and the arguments they are parsed into.
class CommandLine {
 public:
  explicit CommandLine(const Terminal& terminal)
      : app_("Predicts throughput, latency and power of an MoE language model being served."),
        terminal_(terminal) {
    app_.name("plateau");
    app_.footer(kExitCodes);
    app_.set_version_flag("--version", "plateau " PLATEAU_VERSION);
    app_.require_subcommand(1);
    add_run();
    add_step();
    add_sweep();
    add_explain();
    add_plan();
    add_list();
    add_calibrate();
    add_validate();
    add_import();
    add_scenario_draft();
  }

  int run(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    try {
      app_.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return stop(error);
    }
    return chosen_();
  }

 private:
  void add_run() {
    CLI::App* command = app_.add_subcommand("run", "Simulate a scenario and report");
    add_scenario(command, &run_.scenario);
    command
        ->add_option("--html", run_.html,
                     "Write the report as one HTML page to FILE, with charts and a batch slider")
        ->type_name("FILE");
    command
        ->add_option("--trace", run_.trace,
                     "Write the steps and requests to FILE as a trace for ui.perfetto.dev")
        ->type_name("FILE");
    command->add_option("--requests-csv", run_.requests_csv, "Write a row per request to FILE")
        ->type_name("FILE");
    command->add_flag(
        "--ladder", run_.ladder,
        "Relax each limit in turn and run again: what it would give, what binds next");
    add_common(command, &run_.common);
    command->callback([this] { chosen_ = [this] { return run_command(run_, terminal_); }; });
  }

  void add_validate() {
    CLI::App* command = app_.add_subcommand(
        "validate",
        "Predict what was measured and compare: scenarios with a measured block, or rows of a CSV");
    command
        ->add_option("measured", validate_.measured,
                     "Scenarios, folders of scenarios, or one CSV of measured rows")
        ->required()
        ->type_name("FILE");
    command->add_option("--base", validate_.base, "Scenario that each row of the CSV overlays")
        ->type_name("FILE");
    command
        ->add_option("--bars", validate_.bars,
                     "Exit with 4 unless the metric's MAPE is within: --bars step_ms=2")
        ->type_name("METRIC=PERCENT");
    command->add_option("--svg", validate_.svg, "Plot predicted against measured")
        ->type_name("FILE");
    add_common(command, &validate_.common);
    command->callback(
        [this] { chosen_ = [this] { return validate_command(validate_, terminal_); }; });
  }

  void add_step() {
    CLI::App* command =
        app_.add_subcommand("step", "Price one step of a scenario, operation by operation");
    add_scenario(command, &step_.scenario);
    command->add_option("--batch", step_.batch, "Requests in the step")
        ->required()
        ->check(CLI::Range(1, 1'000'000));
    command->add_option("--ctx", step_.context, "Tokens that each request holds")
        ->required()
        ->check(CLI::Range(0, 10'000'000));
    command->add_flag("--prefill", step_.prefill,
                      "A prefill step of --batch prompts of --ctx tokens");
    add_common(command, &step_.common);
    command->callback([this] { chosen_ = [this] { return step_command(step_, terminal_); }; });
  }

  void add_sweep() {
    CLI::App* command = app_.add_subcommand("sweep", "Simulate a scenario at many points");
    add_scenario(command, &sweep_.scenario);
    command
        ->add_option("--vary", sweep_.vary,
                     "Values of one key: KEY=a,b,c or KEY=lo..hi:steps (may be repeated)")
        ->type_name("KEY=VALUES")
        ->allow_extra_args(false);
    CLI::Option* zip = command->add_flag("--zip", sweep_.zip, "Pair the values of all keys");
    CLI::Option* points = command->add_option("--points", sweep_.points,
                                              "A CSV file of points, its header names the keys");
    points->type_name("FILE");
    const auto sample = [&](const char* name, std::int64_t* size, const char* description) {
      return command->add_option(name, *size, description)
          ->type_name("N")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    };
    CLI::Option* random =
        sample("--random", &sweep_.random, "N different points of the grid, at random");
    CLI::Option* latin = sample("--lhs", &sweep_.latin, "A Latin hypercube of N points");
    zip->excludes(points)->excludes(random)->excludes(latin);
    points->excludes(random)->excludes(latin);
    random->excludes(latin);
    command->add_option("--sample-seed", sweep_.sample_seed, "Seed of the sample (default 1)")
        ->type_name("N");
    add_work(command, &sweep_.threads, &sweep_.repetitions);
    command->add_option("--csv", sweep_.csv, "Write the rows as CSV")->type_name("FILE|-");
    command->add_option("--jsonl", sweep_.json_lines, "Write the rows as JSON lines")
        ->type_name("FILE|-");
    command
        ->add_option("--html", sweep_.html,
                     "Write the rows as one HTML page to FILE: any two figures and their front")
        ->type_name("FILE|-");
    add_common(command, &sweep_.common);
    command->callback([this] { chosen_ = [this] { return sweep_command(sweep_, terminal_); }; });
  }

  void add_plan() {
    CLI::App* command =
        app_.add_subcommand("plan", "Find the best configuration of a scenario under limits");
    add_scenario(command, &plan_.scenario);
    command
        ->add_option("--vary", plan_.vary,
                     "Values of one key to choose from (may be repeated; default: the engine's "
                     "caps and flags, power limits, TP and devices)")
        ->type_name("KEY=VALUES")
        ->allow_extra_args(false);
    command
        ->add_option("--maximise,--maximize", plan_.maximise,
                     "tok_per_s (default), tok_per_s_per_gpu, tok_per_s_per_w or request_rate")
        ->type_name("FIGURE");
    command
        ->add_option("--minimise,--minimize", plan_.minimise,
                     "gpus, j_per_token or cost_per_million_tokens")
        ->type_name("FIGURE");
    command
        ->add_option("--limit", plan_.limits,
                     "What an answer must keep: 'ttft_p99 <= 500 ms' (may be repeated)")
        ->type_name("LIMIT")
        ->allow_extra_args(false);
    command->add_option("--random", plan_.random, "Choose from N points of the space, at random")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    command->add_flag("--exhaustive", plan_.exhaustive, "Simulate every point");
    command->add_option("--best", plan_.best, "How many answers to give (default 5)")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    add_work(command, &plan_.threads, &plan_.repetitions);
    command
        ->add_option("--html", plan_.html,
                     "Write the points that ran as one HTML page to FILE: any two figures and "
                     "their front")
        ->type_name("FILE");
    add_common(command, &plan_.common);
    command->callback([this] { chosen_ = [this] { return plan_command(plan_, terminal_); }; });
  }

  static void add_work(CLI::App* command, int* threads, int* repetitions) {
    command->add_option("--threads", *threads, "Threads (default: every core; under MPI 1 a rank)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    command
        ->add_option("--intervals", *repetitions,
                     "Repeat each point N times with other experts and tables as noisy as they "
                     "are, and give p5 and p95")
        ->type_name("N")
        ->check(CLI::Range(2, 10'000));
  }

  void add_explain() {
    CLI::App* command = app_.add_subcommand(
        "explain", "Why two scenarios differ in tokens/s, TPOT and watts, cause by cause");
    command->add_option("a", explain_.scenario_a, "Scenario A")->required()->type_name("FILE");
    command->add_option("b", explain_.scenario_b, "Scenario B")->required()->type_name("FILE");
    const auto add_sets_of = [&](const char* name, std::vector<std::string>* sets,
                                 const char* description) {
      command->add_option(name, *sets, description)
          ->type_name("KEY=VALUE")
          ->allow_extra_args(false);
    };
    add_sets_of("--set-a", &explain_.sets_a, "Set a key of scenario A only (may be repeated)");
    add_sets_of("--set-b", &explain_.sets_b, "Set a key of scenario B only (may be repeated)");
    add_common(command, &explain_.common);
    command->callback(
        [this] { chosen_ = [this] { return explain_command(explain_, terminal_); }; });
  }

  void add_list() {
    CLI::App* command = app_.add_subcommand(
        "list", "What there is: models, devices, profiles, schedulers, routing laws");
    command
        ->add_option("what", list_.what,
                     "Only one of models, devices, profiles, schedulers, routing_laws")
        ->check(CLI::IsMember({"models", "devices", "profiles", "schedulers", "routing_laws"}));
    add_json(command, &list_.json);
    command->callback([this] { chosen_ = [this] { return list_command(list_, terminal_); }; });
  }

  void add_calibrate() {
    CLI::App* command = app_.add_subcommand(
        "calibrate", "Fit a profile: to a deployment's own logs, or to published kernel tables");
    add_calibrate_measured(command);
    add_calibrate_power(command);
    add_calibrate_tables(command);
    command->add_option("--into", calibrate_.into, "Folder of profiles (default: the shipped ones)")
        ->type_name("FOLDER");
    add_json(command, &calibrate_.common.json);
    command->callback([this] {
      if (!calibrate_.power_runs.empty() || !calibrate_.cap_sweep.empty()) {
        chosen_ = [this] { return calibrate_power_command(calibrate_, terminal_); };
        return;
      }
      const bool logs = !calibrate_.measured.empty();
      if (!logs && calibrate_.tables.empty()) {
        throw CLI::RequiredError("--scenario with --measured, or a folder of kernel tables");
      }
      if (!logs) check_tables();
      chosen_ = [this, logs] {
        return logs ? calibrate_measured_command(calibrate_, terminal_)
                    : calibrate_command(calibrate_, terminal_);
      };
    });
  }

  void add_calibrate_measured(CLI::App* command) {
    CLI::Option* scenario =
        command->add_option("--scenario", calibrate_.scenario, "Scenario of the measured run");
    scenario->type_name("FILE");
    CLI::Option* measured = command->add_option(
        "--measured", calibrate_.measured,
        "Server logs, step traces, power logs and benchmark results of that run");
    measured->type_name("FILE")->needs(scenario);
    scenario->needs(measured);
    command
        ->add_option("--offset", calibrate_.offsets,
                     "Seconds to add to the clock of a file: --offset power.csv=-3600")
        ->type_name("FILE=SECONDS")
        ->allow_extra_args(false);
    command
        ->add_option("--utc-offset", calibrate_.utc_offset_h,
                     "Hours that the logs' local time is ahead of UTC")
        ->type_name("HOURS")
        ->check(CLI::Range(-14.0, 14.0));
    command
        ->add_option("--columns", calibrate_.columns,
                     "Names with units of a monitor CSV without a header")
        ->delimiter(',')
        ->type_name("NAMES")
        ->allow_extra_args(false);
    command->add_option("--name", calibrate_.name, "Name of the profile (default: the scenario's)")
        ->type_name("NAME");
    command
        ->add_option("--out", calibrate_.out,
                     "Write a scenario that uses the profile and the logged KV pool")
        ->type_name("FILE");
    command->add_option("--svg", calibrate_.svg, "Plot the residuals")->type_name("FILE");
    add_sets(command, &calibrate_.common);
    command->add_flag("--strict", calibrate_.common.strict,
                      "A contradiction is a refusal: exit code 3");
    command->add_flag("--quiet", calibrate_.common.quiet, "Print nothing");
  }

  void add_calibrate_tables(CLI::App* command) {
    command->add_option("tables", calibrate_.tables, "Folder of tables: SYSTEM/ENGINE/OP.csv.gz")
        ->type_name("FOLDER");
    const auto add = [&](const char* name, std::string* value, const char* description) {
      command->add_option(name, *value, description)->type_name("TEXT");
    };
    add("--system", &calibrate_.system, "Folder of the tables, e.g. rtx_pro_6000_server");
    add("--engine", &calibrate_.engine, "Engine and version of the tables, e.g. sglang-0.5.14");
    add("--nccl", &calibrate_.nccl, "Collectives, e.g. nccl-2.29.2");
    add("--device", &calibrate_.device, "Device of the profile, with a device.yaml");
    add("--borrow", &calibrate_.borrow_from,
        "Engine whose tables stand in where this one has none");
    add("--source", &calibrate_.source, "Where the tables come from");
    add("--licence", &calibrate_.licence, "Their licence");
    add("--date", &calibrate_.date, "Their date");
  }

  // What tables need and logs do not.
  void check_tables() const {
    const std::pair<const char*, const std::string*> needed[] = {
        {"--system", &calibrate_.system}, {"--engine", &calibrate_.engine},
        {"--nccl", &calibrate_.nccl},     {"--device", &calibrate_.device},
        {"--source", &calibrate_.source}, {"--licence", &calibrate_.licence},
        {"--date", &calibrate_.date}};
    for (const auto& [name, value] : needed) {
      if (value->empty()) throw CLI::RequiredError(name);
    }
  }

  void add_calibrate_power(CLI::App* command) {
    const auto add = [&](const char* name, std::string* value, const char* description) {
      return command->add_option(name, *value, description);
    };
    add("--power-runs", &calibrate_.power_runs,
        "Watts against batch of each configuration in FILE, each batch left out once")
        ->type_name("FILE");
    add("--cap-sweep", &calibrate_.cap_sweep,
        "Clock law of a board from runs at several power limits, each workload left out once")
        ->type_name("FILE");
    add("--hold-out", &calibrate_.hold_out,
        "Column whose value is left out together (default: workload)")
        ->type_name("COLUMN");
    command->add_option("--where", calibrate_.where, "Rows of FILE with this value (repeatable)")
        ->type_name("COLUMN=VALUE")
        ->allow_extra_args(false);
  }

  void add_import() {
    CLI::App* command = app_.add_subcommand(
        "import", "Recognise logs, traces and results of a measured run and write one file");
    command->add_option("files", import_.files, "Files, plain or gzip, or folders of kernel tables")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--columns", import_.columns,
                     "Names with units of a monitor CSV without a header: "
                     "'index,power.draw [W],clocks.sm [MHz]'")
        ->delimiter(',')
        ->type_name("NAMES")
        ->allow_extra_args(false);
    command
        ->add_option("--out", import_.out,
                     "Measurement file, .csv or .json (default: measurement.csv, with --json none)")
        ->type_name("FILE");
    add_json(command, &import_.common.json);
    command->add_flag("--strict", import_.common.strict, "A warning is a refusal: exit code 3");
    command->add_flag("--quiet", import_.common.quiet, "Do not tell what was recognised");
    command->callback([this] { chosen_ = [this] { return import_command(import_, terminal_); }; });
  }

  void add_scenario_draft() {
    CLI::App* command = app_.add_subcommand(
        "scenario", "Write a scenario from the commands that launched a server and its benchmark");
    command
        ->add_option("--from-command", draft_.command,
                     "SGLang or vLLM commands in one word, or a file that holds them")
        ->required()
        ->type_name("TEXT|FILE");
    command
        ->add_option("--bench", draft_.bench,
                     "The benchmark's command, or its file, when --from-command does not hold it")
        ->type_name("TEXT|FILE");
    command->add_option("--device,--gpu", draft_.device, "GPU, as in `plateau list devices`")
        ->type_name("NAME");
    command
        ->add_option("--engine-version", draft_.engine_version,
                     "Release or month of the engine, when no image tag tells it")
        ->type_name("VERSION");
    command->add_option("--out", draft_.out, "Scenario file (default: the standard output)")
        ->type_name("FILE");
    add_json(command, &draft_.common.json);
    command->add_flag("--strict", draft_.common.strict,
                      "An unknown or unmodelled flag is a refusal: exit code 3");
    command->add_flag("--quiet", draft_.common.quiet, "Do not tell what became of each flag");
    command->callback([this] { chosen_ = [this] { return scenario_command(draft_, terminal_); }; });
  }

  // --help and --version end well; everything else is a bad input.
  int stop(const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app_.exit(error, *terminal_.out, *terminal_.err);
      return kDone;
    }
    const CLI::App* command = command_of();
    const std::string name = command == &app_ ? "plateau" : "plateau " + command->get_name();
    *terminal_.err << name << ": " << sentence_of(error, *command) << "\n";
    return kBadInput;
  }

  const CLI::App* command_of() const {
    const auto parsed = app_.get_subcommands();
    // Words before the command belong to nobody but the program itself.
    return parsed.empty() || !app_.remaining().empty() ? &app_ : parsed.front();
  }

  std::string sentence_of(const CLI::ParseError& error, const CLI::App& command) const {
    const std::vector<std::string> unexpected = app_.remaining(true);
    const auto option =
        std::find_if(unexpected.begin(), unexpected.end(),
                     [](const std::string& word) { return word.rfind('-', 0) == 0; });
    if (option != unexpected.end())
      return "there is no option `" + *option + "`" + did_you_mean(*option, command, true);
    if (!unexpected.empty() && command.get_parent() == nullptr) {
      return "there is no command `" + unexpected.front() + "`" +
             did_you_mean(unexpected.front(), command, false);
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) !=
        nullptr) {  // "The following argument was not expected: b.yaml"
      const std::string text = error.what();
      return "did not expect `" + text.substr(text.find(": ") + 2) + "`";
    }
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
        command.get_parent() == nullptr) {
      return "which command? One of: " + joined_commands(command) + " (plateau --help)";
    }
    return std::string(error.what());
  }

  static std::string did_you_mean(std::string word, const CLI::App& command, bool option) {
    word = word.substr(0, word.find('='));
    std::vector<std::string> names;
    if (option) {
      for (const CLI::Option* known : command.get_options()) {
        for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
      }
    } else {
      for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
    }
    const std::string near = closest(word, names);
    if (!near.empty()) return " (did you mean `" + near + "`?)";
    if (option && command.get_parent() == nullptr) return " (options come after the command)";
    return option || names.empty() ? "" : " (one of: " + joined_commands(command) + ")";
  }

  static std::string joined_commands(const CLI::App& app) {
    std::string text;
    for (const CLI::App* command : app.get_subcommands({})) {
      text += (text.empty() ? "" : ", ") + command->get_name();
    }
    return text;
  }

  CLI::App app_;
  const Terminal& terminal_;
  RunArguments run_;
  StepArguments step_;
  SweepArguments sweep_;
  ExplainArguments explain_;
  PlanArguments plan_;
  ListArguments list_;
  CalibrateArguments calibrate_;
  ValidateArguments validate_;
  ImportArguments import_;
  ScenarioArguments draft_;
  std::function<int()> chosen_;
};

}  // namespace

int run_command_line(const std::vector<std::string>& words, const Terminal& terminal) {
  try {
    return CommandLine(terminal).run(words);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) *terminal.err << to_string(problem) << "\n";
    return kBadInput;
  } catch (const std::bad_alloc&) {
    *terminal.err << "plateau: out of memory\n";
    return kOurFault;
  } catch (const std::exception& error) {
    *terminal.err << "plateau: a fault of ours, please report it: " << error.what() << "\n";
    return kOurFault;
  }
}

}  // namespace plateau
