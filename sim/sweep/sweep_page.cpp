#include "sim/sweep/sweep_page.h"

#include <fmt/format.h>

#include "sim/report/page.h"
#include "sim/sweep/sweep_output.h"

namespace plateau {

std::string sweep_page(const Sweep& sweep, const RowStore& rows) {
  SweepPage page;
  page.title = sweep.base().file;
  page.question = sweep.base().question;
  page.infeasible = infeasible_rows(rows);
  for (const Variation& key : sweep.space().keys())
    page.columns.push_back({key.key, SweepColumn::Kind::varied});
  for (std::size_t c = 0; c < sweep.columns().size(); ++c) {
    page.columns.push_back({sweep.columns()[c], c < sweep.numbers() ? SweepColumn::Kind::figure
                                                                    : SweepColumn::Kind::word});
  }
  const std::int64_t every = (rows.size() + kMostPageRows - 1) / kMostPageRows;
  if (every > 1) {
    page.notes.push_back(fmt::format("The sweep has {} points; this page holds every {}th of them.",
                                     rows.size(), every));
  }
  for (std::int64_t point = 0; point < rows.size(); point += every) {
    SweepRow row = row_of(rows.line(point));
    if (!row.ok) continue;
    std::vector<std::string> cells = sweep.space().values(point);
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    page.rows.push_back(std::move(cells));
  }
  return sweep_html(page);
}

}  // namespace plateau
