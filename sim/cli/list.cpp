// `plateau list`: what a scenario may name.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "calibration/model_config.h"
#include "calibration/profile.h"
#include "sim/cli/commands.h"
#include "sim/scenario/read_scenario.h"
#include "sim/serving/scheduler.h"

namespace plateau {

namespace {

struct Entry {
  std::string name;
  std::string summary;
};

struct Group {
  std::string name;
  std::string title;
  std::vector<Entry> entries;
};

std::vector<Entry> named(const std::vector<std::string>& names) {
  std::vector<Entry> entries;
  for (const std::string& name : names) entries.push_back({name, ""});
  return entries;
}

std::vector<Group> groups_of(const std::string& data_dir) {
  std::vector<Entry> profiles;
  std::vector<Entry> devices;
  for (const ProfileName& profile : list_profiles(data_dir)) {
    profiles.push_back({profile.name, profile.summary});
    const std::string device = profile.name.substr(0, profile.name.find('/'));
    if (devices.empty() || devices.back().name != device) devices.push_back({device, ""});
  }
  std::vector<Entry> engines;
  for (const SchedulerEntry& entry : schedulers()) engines.push_back({entry.name, ""});
  return {{"models", "Models (model:)", named(list_models(data_dir))},
          {"devices", "Devices (hardware.device:)", std::move(devices)},
          {"profiles", "Profiles (calibration.profile:)", std::move(profiles)},
          {"schedulers", "Schedulers (engine.kind:)", std::move(engines)},
          {"routing_laws", "Routing laws (routing.law:)", named(routing_law_names())}};
}

void write_text(const std::vector<Group>& groups, std::ostream& out) {
  bool first = true;
  for (const Group& group : groups) {
    out << (first ? "" : "\n") << group.title << "\n";
    first = false;
    std::size_t width = 0;
    for (const Entry& entry : group.entries) width = std::max(width, entry.name.size());
    for (const Entry& entry : group.entries) {
      out << "  " << entry.name;
      if (!entry.summary.empty())
        out << std::string(width - entry.name.size() + 2, ' ') << entry.summary;
      out << "\n";
    }
    if (group.entries.empty()) out << "  none\n";
  }
}

std::string to_json(const std::vector<Group>& groups) {
  nlohmann::ordered_json json;
  json["schema"] = "plateau-list/1";
  for (const Group& group : groups) {
    auto& list = json[group.name] = nlohmann::ordered_json::array();
    for (const Entry& entry : group.entries) {
      nlohmann::ordered_json item = {{"name", entry.name}};
      if (!entry.summary.empty()) item["summary"] = entry.summary;
      list.push_back(std::move(item));
    }
  }
  return json.dump(2) + "\n";
}

}  // namespace

int list_command(const ListArguments& arguments, const Terminal& terminal) {
  std::vector<Group> groups = groups_of(terminal.data_dir);
  if (!arguments.what.empty()) {
    groups.erase(std::remove_if(groups.begin(), groups.end(),
                                [&](const Group& group) { return group.name != arguments.what; }),
                 groups.end());
  }
  if (!arguments.json.empty()) {
    write_json(to_json(groups), arguments.json, terminal);
  }
  if (arguments.json != "-") write_text(groups, *terminal.out);
  return kDone;
}

}  // namespace plateau
