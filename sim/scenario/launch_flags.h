// What each flag of a launch command means to a scenario. Names as the engines' parsers take them.
#pragma once

#include <cstdint>
#include <string_view>

#include "calibration/import/launch_command.h"

namespace plateau {

struct FlagRule {
  enum class Role : std::uint8_t {
    key,         // becomes `key`, in the engine's own words
    special,     // takes part in a key together with others; from_command.cpp knows how
    immaterial,  // no effect on what is simulated: `text` says why
    unmodelled   // changes the run and has no key: `text` names it
  };
  enum class Value : std::uint8_t { none, integer, number, word, list };

  std::string_view flag;
  Role role = Role::immaterial;
  Value value = Value::none;
  std::string_view text;  // key, reason or name
};

// The rule of a flag, or nullptr for one that is not known.
const FlagRule* flag_rule(imports::Program program, std::string_view flag);

}  // namespace plateau
