// docs/scenario.schema.json against the reader, so that an editor's completion never lies.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibration/csv.h"
#include "sim/scenario/read_scenario.h"

namespace {

using nlohmann::json;

// Adds the dotted keys below a schema, through the alternatives that allow null or a plain value.
void collect(const json& schema, const std::string& path, std::vector<std::string>* keys) {
  for (const char* alternatives : {"anyOf", "oneOf"}) {
    if (!schema.contains(alternatives)) continue;
    for (const json& alternative : schema[alternatives]) collect(alternative, path, keys);
  }
  if (!schema.contains("properties")) return;
  CHECK_MESSAGE(schema["additionalProperties"] == false, path);
  for (const auto& [key, value] : schema["properties"].items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    keys->push_back(name);
    collect(value, name, keys);
  }
}

}  // namespace

TEST_CASE("the JSON schema of scenarios holds exactly the reader's keys") {
  const json schema =
      json::parse(plateau::read_file(PLATEAU_SOURCE_DIR "/docs/scenario.schema.json"));
  std::vector<std::string> keys;
  collect(schema, "", &keys);
  std::sort(keys.begin(), keys.end());
  CHECK(keys == plateau::scenario_keys());
}
