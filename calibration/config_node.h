// A neutral tree of a YAML or JSON document that remembers where each value stood.
//
// Both formats fill the same tree, so that every reader (scenario, model spec, profile meta,
// config.json) reports file:line:column and refuses duplicate keys in the same way, and so that a
// build without yaml-cpp can still read JSON. Scalars are kept as text: the reader that knows the
// key decides the type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/input_error.h"

namespace plateau {

class ConfigNode {
 public:
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text;  // scalar: its text, unquoted
  bool quoted = false;
  std::string file;
  int line = 0;  // 1-based; of the value
  int column = 0;
  int key_line = 0;  // of the map key that names it; 0: no key
  int key_column = 0;
  std::vector<std::string> keys;  // map: keys in file order, parallel to children
  std::vector<ConfigNode> children;

  const ConfigNode* find(std::string_view key) const;  // map: child or nullptr
  Problem problem(std::string key, std::string message, std::string hint = "") const;
};

// Throw InputError on syntax errors, duplicate keys and files that cannot be read. Neither reads
// more than it is given; a document nested deeper than 64 levels is refused.
ConfigNode parse_yaml(std::string_view text, const std::string& file);
ConfigNode parse_json(std::string_view text, const std::string& file);
ConfigNode read_yaml_file(const std::string& path);
ConfigNode read_json_file(const std::string& path);

}  // namespace plateau
