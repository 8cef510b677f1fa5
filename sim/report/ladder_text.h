// The ladder of a report as a table: what each relaxed limit gives, what binds then, what one more
// unit of each knob is worth, and the climb.
#pragma once

#include "sim/report/format.h"
#include "sim/report/report.h"

namespace plateau {

void write_ladder(Page& page, const BindingReport& binding);  // nothing without a ladder

}  // namespace plateau
