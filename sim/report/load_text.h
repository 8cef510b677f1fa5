// How the load, the goodput and the cost of a run read in the text report and its warnings.
#pragma once

#include <string>

#include "sim/report/report.h"

namespace plateau {

std::string load_text(const SaturationReport& saturation);
std::string growth_text(const SaturationReport& saturation);  // the warning when the queue grows
std::string goodput_text(const GoodputReport& goodput);
std::string cost_text(const CostReport& cost);

}  // namespace plateau
