// A finished sweep as an HTML page: sim/report/page.h's Pareto explorer over its rows.
#pragma once

#include <string>

#include "sim/sweep/row_store.h"
#include "sim/sweep/sweep.h"

namespace plateau {

// Rows of points that can run; of more than kMostPageRows, evenly many, and the page says so.
inline constexpr std::int64_t kMostPageRows = 20'000;
std::string sweep_page(const Sweep& sweep, const RowStore& rows);

}  // namespace plateau
