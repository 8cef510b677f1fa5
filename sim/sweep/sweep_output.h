// The forms of a finished sweep: CSV, JSON lines, one JSON document and a table for people. The
// same rows give the same bytes.
#pragma once

#include <string>

#include "sim/sweep/row_store.h"
#include "sim/sweep/sweep.h"

namespace plateau {

// Header: the varied keys, status, reason, figures. A value that a run cannot know is an empty
// cell.
std::string sweep_csv(const Sweep& sweep, const RowStore& rows);

// Schema plateau-sweep/1. Lines: the first describes the sweep, each further one is a row.
std::string sweep_json_lines(const Sweep& sweep, const RowStore& rows);
std::string sweep_json(const Sweep& sweep, const RowStore& rows);

// What somebody reads first: at most `most_rows` rows, the best by output tokens/s named.
std::string sweep_text(const Sweep& sweep, const RowStore& rows, int most_rows);

std::int64_t infeasible_rows(const RowStore& rows);

}  // namespace plateau
