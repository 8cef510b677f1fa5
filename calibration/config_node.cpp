#include "calibration/config_node.h"

#include <utility>

#include "calibration/csv.h"

namespace plateau {

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &children[i];
  }
  return nullptr;
}

Problem ConfigNode::problem(std::string key, std::string message, std::string hint) const {
  return Problem{file, line, column, std::move(key), std::move(message), std::move(hint)};
}

ConfigNode read_yaml_file(const std::string& path) { return parse_yaml(read_file(path), path); }

ConfigNode read_json_file(const std::string& path) { return parse_json(read_file(path), path); }

}  // namespace plateau
