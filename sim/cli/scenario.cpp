// `plateau scenario --from-command`: a scenario from the commands of a measured run.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "calibration/csv.h"
#include "calibration/import/launch_command.h"
#include "calibration/model_config.h"
#include "calibration/profile.h"
#include "sim/cli/commands.h"
#include "sim/scenario/from_command.h"

namespace plateau {

namespace {

// The words themselves, or a script that holds them.
std::string text_of(const std::string& words) {
  std::error_code error;
  return std::filesystem::is_regular_file(words, error) ? read_file(words) : words;
}

imports::LaunchScript script_of(const ScenarioArguments& arguments) {
  std::error_code error;
  const bool file = std::filesystem::is_regular_file(arguments.command, error);
  std::string text = text_of(arguments.command);
  if (!arguments.bench.empty()) text += '\n' + text_of(arguments.bench);
  return imports::parse_launch_script(text, file ? arguments.command : "");
}

std::string to_json(const ScenarioDraft& draft) {
  using Json = nlohmann::ordered_json;
  const auto reasons = [](const std::vector<FlagReason>& list) {
    Json array = Json::array();
    for (const FlagReason& entry : list)
      array.push_back({{"flag", entry.flag}, {"why", entry.why}});
    return array;
  };
  Json keys = Json::array();
  for (const DraftKey& key : draft.keys) {
    keys.push_back({{"key", key.key},
                    {"value", key.value},
                    {"flag", key.flag.empty() ? Json(nullptr) : Json(key.flag)}});
  }
  const Json json = {{"schema", "plateau-scenario/1"},
                     {"scenario", draft.yaml},
                     {"keys", keys},
                     {"immaterial", reasons(draft.immaterial)},
                     {"ignored_by_engine", reasons(draft.ignored_by_engine)},
                     {"unknown", draft.unknown},
                     {"open", draft.open},
                     {"notes", draft.notes},
                     {"warnings", draft.warnings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void tell(const ScenarioDraft& draft, std::ostream& err) {
  for (const FlagReason& entry : draft.immaterial)
    err << "no effect: " << entry.flag << " (" << entry.why << ")\n";
  for (const FlagReason& entry : draft.ignored_by_engine) {
    err << "ignored by the engine: " << entry.flag << " (" << entry.why << ")\n";
  }
  for (const std::string& note : draft.notes) err << "note: " << note << "\n";
  for (const std::string& open : draft.open) err << "to fill in: " << open << "\n";
  for (const std::string& warning : draft.warnings) err << "warning: " << warning << "\n";
}

}  // namespace

int scenario_command(const ScenarioArguments& arguments, const Terminal& terminal) {
  DraftOptions options;
  options.models = list_models(terminal.data_dir);
  for (const ProfileName& profile : list_profiles(terminal.data_dir))
    options.profiles.push_back(profile.name);
  options.device = arguments.device;
  options.engine_version = arguments.engine_version;
  const ScenarioDraft draft = draft_scenario(script_of(arguments), options);
  if (refused(draft.warnings, arguments.common, terminal)) return kRefused;
  if (!arguments.common.quiet) tell(draft, *terminal.err);
  if (!arguments.common.json.empty()) write_json(to_json(draft), arguments.common.json, terminal);
  if (!arguments.out.empty()) {
    write_file(arguments.out, draft.yaml);
  } else if (arguments.common.json.empty()) {
    *terminal.out << draft.yaml;
  }
  return kDone;
}

}  // namespace plateau
