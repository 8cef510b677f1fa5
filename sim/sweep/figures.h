// The figures of a run as one row of a table: names with unit suffixes, numbers in the shortest
// digits that read back equal. `plateau sweep` writes them, `plateau plan` compares them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace plateau {

struct Figure {
  const char* name;  // "ttft_p99_ms"
  std::optional<double> (*value)(const Report& report);
};

// Numbers, in column order.
const std::vector<Figure>& figures();
// nullptr when there is none.
const Figure* find_figure(const std::string& name);

// Those that --intervals gives p5 and p95 of.
const std::vector<std::string>& repeated_figures();

// The words of a row: "binding", "concurrency_binding", "load" (the verdict of
// sim/report/saturation.h) and "currency".
struct WordFigure {
  const char* name;
  std::string (*value)(const Report& report);
};
const std::vector<WordFigure>& word_figures();

// "" when missing or not finite.
std::string digits_of(std::optional<double> value);

}  // namespace plateau
