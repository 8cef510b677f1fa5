// Words to commands: the list of commands, and sentences for words that are not understood.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>

#include "calibration/input_error.h"
#include "sim/cli/command_options.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 our fault, 2 the input is wrong, 3 refused by --strict, 4 the answer "
    "does not meet what was asked.";

constexpr std::size_t kColumns = 80;

std::string lines_of(const std::string& text, std::size_t width) {
  std::string lines;
  for (const std::string& line : wrap("", text, width)) lines += (lines.empty() ? "" : "\n") + line;
  return lines;
}

// CLI11's page of help, in kColumns.
class NarrowHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return lines_of(Formatter::make_option_desc(option), kColumns - column_width_);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_name(),
                             lines_of(command->get_description(), kColumns - column_width_),
                             column_width_);
    return text.str();
  }
  std::string make_description(const CLI::App* app) const override {
    return lines_of(app->get_description(), kColumns) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return lines_of(app->get_footer(), kColumns) + "\n";
  }
};

// The commands and the arguments they are parsed into.
class CommandLine {
 public:
  explicit CommandLine(const Terminal& terminal)
      : app_("Predicts throughput, latency and power of an MoE language model being served."),
        terminal_(terminal) {
    app_.name("plateau");
    app_.formatter(std::make_shared<NarrowHelp>());
    app_.footer(kExitCodes);
    app_.set_version_flag("--version", "plateau " PLATEAU_VERSION);
    app_.require_subcommand(1);
    add("run", "Simulate a scenario and report", add_run_options, &run_, run_command);
    add("step", "Price one step of a scenario, operation by operation", add_step_options, &step_,
        step_command);
    add("sweep", "Simulate a scenario at many points", add_sweep_options, &sweep_, sweep_command);
    add("explain", "Why two scenarios differ in tokens/s, TPOT and watts, cause by cause",
        add_explain_options, &explain_, explain_command);
    add("plan", "Find the best configuration of a scenario under limits", add_plan_options, &plan_,
        plan_command);
    add("list", "What there is: models, devices, profiles, schedulers, routing laws",
        add_list_options, &list_, list_command);
    add("calibrate", "Fit a profile: to a deployment's own logs, or to published kernel tables",
        add_calibrate_options, &calibrate_, calibrate_command);
    add("validate",
        "Predict what was measured and compare: scenarios with a measured block, or rows of a CSV",
        add_validate_options, &validate_, validate_command);
    add("import", "Recognise logs, traces and results of a measured run and write one file",
        add_import_options, &import_, import_command);
    add("scenario", "Write a scenario from the commands that launched a server and its benchmark",
        add_scenario_options, &draft_, scenario_command);
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
  template <class Arguments>
  void add(const char* name, const char* what, void (*options)(CLI::App*, Arguments*),
           Arguments* arguments, int (*command)(const Arguments&, const Terminal&)) {
    CLI::App* added = app_.add_subcommand(name, what);
    options(added, arguments);
    added->callback([this, arguments, command] {
      chosen_ = [this, arguments, command] { return command(*arguments, terminal_); };
    });
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
