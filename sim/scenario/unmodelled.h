// What serving engines and clients can do and Plateau does not model yet: the one list to shorten
// when it learns to.
//
// A scenario that asks for an entry is refused by name, because ignoring it would answer another
// question.
#pragma once

#include <string_view>

#include "calibration/config_reader.h"

namespace plateau {

// Complains about every entry of `section` ("engine", "workload", "parallel") that the scenario
// asks for.
void refuse_unmodelled(std::string_view section, ConfigReader* reader);

// Whether `value` of this key is in the list: its reader then leaves it alone.
bool is_unmodelled(std::string_view section, std::string_view key, std::string_view value);

}  // namespace plateau
