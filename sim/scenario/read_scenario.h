// scenario.yaml -> Scenario: typed, complete, checked; every problem with file, line, column, key
// and a way out.
//
// The keys are those of docs/scenario.schema.json. Units are part of the value
// (calibration/units.h), counts and an engine's own flags are bare. What exists in the field but is
// not modelled yet is refused by name (sim/scenario/unmodelled.h), never ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace plateau {

struct ScenarioOptions {
  // Holds models/specs and calibration/data. Empty: device and profile are not looked up.
  std::string data_dir;
  std::vector<std::string> sets;      // --set key=value, in order
  std::optional<std::uint64_t> seed;  // --seed: wins over the scenario's
  // Only the KV pool is asked for: what schedules and prices steps may be left out or be of an
  // engine that is not modelled (vLLM, expert and data parallelism). Such a scenario cannot run.
  bool pool_only = false;
  // Reads the model; left empty: calibration/model_config.h's load_model from data_dir.
  std::function<ModelSpec(const std::string& model)> load_model;
};

// Throws InputError.
Scenario read_scenario(const std::string& path, const ScenarioOptions& options);

// The same from a tree in which `base:` and --set are already applied. `file` is not opened.
Scenario scenario_from(ConfigNode root, const std::string& file, const ScenarioOptions& options);

// The same error with the places of the keys it names: what finds a fault in a scenario after it
// was read knows the key only. A key that was not given takes the place of its section.
InputError located(const InputError& error, const Scenario& scenario);

// Every key a scenario may hold, "engine.kind" and so on, sorted.
std::vector<std::string> scenario_keys();

std::vector<std::string> routing_law_names();

// "qwen3-30b-a3b-tp2" -> the geometry's name and 2; a path, or a name without the suffix, comes
// back whole with 0.
struct ModelName {
  std::string name;
  int tp = 0;
};
ModelName split_model_name(const std::string& model);

}  // namespace plateau
