#include "sim/report/ladder_text.h"

#include <algorithm>

namespace plateau {

namespace {

constexpr std::size_t kTokens = 9;
constexpr std::size_t kGain = 8;
constexpr std::size_t kWatts = 6;
constexpr std::size_t kNext = 18;
constexpr std::size_t kChange = 38;  // longest change in words, with its star

std::string signed_text(double value) { return (value > 0 ? "+" : "") + compact(value); }

std::string signed_percent(double share) { return (share > 0 ? "+" : "") + percent(share); }

std::string cell(const std::optional<double>& value) { return value ? compact(*value) : "-"; }

struct Columns {
  std::size_t change;
  bool next;
};

Columns columns_of(const Page& page) {
  const std::size_t figures = kTokens + kGain + kWatts;
  const bool next = page.width() >= 2 + kChange - 1 + figures + kNext;
  return {std::min(kChange + 8, page.width() - 2 - figures - (next ? kNext : 0)), next};
}

void write_rung(Page& page, const LadderRung& rung, const Columns& columns) {
  const std::string change =
      rung.change + (rung.hypothetical ? "*" : "") + (rung.breaks.empty() ? "" : "!");
  std::string line = "  " + pad_right(ellipsis(change, columns.change), columns.change);
  if (!rung.tok_per_s_if_relaxed) {
    page.paragraph(line + "  ", rung.not_run);
    return;
  }
  const double own = *rung.tok_per_s_if_relaxed - rung.gain.value_or(0);
  line += pad_left(compact(*rung.tok_per_s_if_relaxed), kTokens);
  line += pad_left(own > 0 ? signed_percent(rung.gain.value_or(0) / own) : "-", kGain);
  line += pad_left(cell(rung.gpu_w_mean_if_relaxed), kWatts);
  page.line(columns.next ? line + "  " + rung.binds_next : line);
}

void write_breaks(Page& page, const std::vector<LadderRung>& ladder) {
  std::vector<std::string> names;
  for (const LadderRung& rung : ladder) {
    for (const std::string& name : rung.breaks) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (!text.empty()) page.paragraph("  ! ", "breaks a bound (" + text + "): such a run cannot be");
}

void write_marginals(Page& page, const std::vector<LadderRung>& ladder) {
  const bool any = std::any_of(ladder.begin(), ladder.end(),
                               [](const LadderRung& rung) { return rung.marginal.has_value(); });
  if (!any) return;
  page.heading(pad_right("One more", 38) + pad_left("tok/s", 10) + pad_left("steady state", 15));
  for (const LadderRung& rung : ladder) {
    if (!rung.marginal) continue;
    const std::string steady = rung.marginal_steady ? signed_text(*rung.marginal_steady) : "-";
    page.line("  " + pad_right(ellipsis(rung.unit, 36), 36) +
              pad_left(signed_text(*rung.marginal), 10) + pad_left(steady, 15));
  }
}

void write_climb(Page& page, const std::vector<LadderStep>& climb) {
  if (climb.empty()) return;
  std::string text;
  for (const LadderStep& step : climb) {
    text += (text.empty() ? "" : ", then ") + step.change + ": " + compact(step.output_tok_per_s) +
            " tok/s at " + compact(step.gpu_w_mean) + " W";
  }
  page.line();
  page.fact("Climb", text + "; then binds " + climb.back().binds_next);
}

}  // namespace

void write_ladder(Page& page, const BindingReport& binding) {
  if (binding.ladder.empty()) return;
  const Columns columns = columns_of(page);
  page.heading(pad_right("If changed (* hypothetical)", columns.change + 2) +
               pad_left("tok/s", kTokens) + pad_left("gain", kGain) + pad_left("W", kWatts) +
               (columns.next ? "  then binds" : ""));
  for (const LadderRung& rung : binding.ladder) write_rung(page, rung, columns);
  write_breaks(page, binding.ladder);
  write_marginals(page, binding.ladder);
  write_climb(page, binding.climb);
}

}  // namespace plateau
