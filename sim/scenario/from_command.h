// A scenario from the commands that launched a server and its benchmark
// (calibration/import/launch_command.h).
//
// Every flag ends up in exactly one place: a key of the scenario, the list of flags without an
// effect on what is simulated, or a warning (unknown, or known and not modelled). What the commands
// do not say (the GPU, the engine's version) is left open in the text and named in `open`, or
// assumed and named in `notes`.
#pragma once

#include <string>
#include <vector>

#include "calibration/import/launch_command.h"

namespace plateau {

struct DraftKey {
  std::string key;    // "engine.max_running_requests"
  std::string value;  // as written in the YAML
  std::string flag;   // "--max-running-requests"; empty: a default of the engine or the benchmark
};

struct FlagReason {
  std::string flag;
  std::string why;
};

struct ScenarioDraft {
  std::string yaml;
  std::vector<DraftKey> keys;
  std::vector<FlagReason> immaterial;  // no effect on what is simulated
  std::vector<FlagReason>
      ignored_by_engine;              // parsed by the engine and read by nothing; still keys
  std::vector<std::string> unknown;   // flags nobody knows
  std::vector<std::string> warnings;  // unknown flags, and flags whose effect is not modelled
  std::vector<std::string> notes;     // what was assumed
  std::vector<std::string> open;      // keys that must be filled in before a run
};

struct DraftOptions {
  std::vector<std::string> models;    // names of the shipped specs
  std::vector<std::string> profiles;  // "device/profile" of the shipped profiles
  std::string device;                 // "": left open
  std::string engine_version;         // "": from an image tag, else assumed
};

ScenarioDraft draft_scenario(const imports::LaunchScript& script, const DraftOptions& options);

}  // namespace plateau
