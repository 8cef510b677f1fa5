// From files and --set words to one tree: what a scenario inherits and what overrides it.
//
// `base: other.yaml` (a path relative to the file that says so) is read first; the file's own maps
// are merged into its maps key by key, and every other value replaces the base's whole. `key: ~`
// takes an inherited key away. `measured` is not inherited: a run that differs was not measured.
// Then each --set, in order: a later one wins. Every value keeps the place where it was written;
// one from the command line has the file kCommandLine and no line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/config_node.h"

namespace plateau {

inline constexpr const char* kCommandLine = "command line";

// Throws InputError; a file that inherits from itself, however far round, is refused.
ConfigNode read_with_bases(const std::string& path);

// `under` with `over` on top.
ConfigNode merged(ConfigNode under, ConfigNode over);

// "workload.requests=512" -> the key's parts and the value, read as YAML. Throws InputError.
struct Assignment {
  std::vector<std::string> key;
  ConfigNode value;
};
Assignment parse_assignment(const std::string& text);
void apply_assignment(Assignment assignment, ConfigNode* root);

// Throws one InputError for all assignments that cannot be made.
void apply_assignments(const std::vector<std::string>& assignments, ConfigNode* root);

// A path as written in `node`'s file, seen from the working directory.
std::string path_from(const ConfigNode& node, const std::string& path);

// Text of the first comment of a file, its question; "" when it starts with something else.
std::string first_comment(const std::string& text);

}  // namespace plateau
