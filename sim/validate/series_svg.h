// Time series of a validation, measured and predicted over each other.
#pragma once

#include <string>

#include "sim/validate/validation.h"

namespace plateau {

std::string series_svg(const Validation& validation);

}  // namespace plateau
