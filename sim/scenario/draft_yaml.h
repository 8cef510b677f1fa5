// The text of a drafted scenario: its keys in sections, each with the flag it came from as a
// comment.
#pragma once

#include <optional>
#include <string>

#include "sim/scenario/from_command.h"
#include "sim/scenario/launch_flags.h"

namespace plateau {

// A scalar: plain words stay bare, everything else is quoted.
std::string yaml_word(const std::string& text);

// A flag's value as the key takes it: 8, true, [1, 2, 4]; nothing when it is not of that kind.
std::optional<std::string> yaml_value(const imports::LaunchFlag& flag, FlagRule::Value kind);

std::string yaml_of(const ScenarioDraft& draft);

}  // namespace plateau
