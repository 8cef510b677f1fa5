#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/validate/series_svg.h"
#include "sim/validate/validation.h"

namespace plateau {

namespace {

constexpr double kPanel = 260;  // px, the square of one plot
constexpr double kMargin = 56;
constexpr double kBand = 0.05;  // dashed lines: predictions within 5 %
constexpr const char* kShown[] = {
    "step_ms",  "output_tok_per_s", "gpu_w_mean", "j_per_output_token",
    "ttft_p50", "ttft_mean",        "tpot_p50",   "tpot_mean",
    "itl_p50",  "mean_running",     "kernel_us",  "kv_capacity_tokens"};

struct Axis {
  double low = 0;
  double high = 1;
  double at(double value) const { return (std::log10(value) - low) / (high - low) * kPanel; }
};

Axis axis_of(const Validation& validation, const std::string& metric) {
  double smallest = 1e300;
  double largest = 0;
  for (const ValidationRow& row : validation.rows) {
    const auto found = row.metrics.find(metric);
    if (found == row.metrics.end()) continue;
    smallest = std::min({smallest, found->second.measured, found->second.predicted});
    largest = std::max({largest, found->second.measured, found->second.predicted});
  }
  return {std::log10(smallest / 1.15), std::log10(largest * 1.15)};
}

// 1, 2 and 5 times powers of ten inside the axis.
std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  const bool wide = axis.high - axis.low > 1.5;
  for (int power = static_cast<int>(std::floor(axis.low));
       power <= static_cast<int>(std::ceil(axis.high)); ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, power);
      const double at = std::log10(value);
      if (at >= axis.low && at <= axis.high && (!wide || digit == 1.0)) ticks.push_back(value);
    }
  }
  return ticks;
}

// "line 12", "glm5.yaml 41"; text in SVG: the characters that XML reserves are left out.
std::string place_of(const ValidationRow& row) {
  if (row.file.empty()) return fmt::format("line {}", row.line);
  std::string place = row.file.substr(row.file.rfind('/') + 1) + fmt::format(" line {}", row.line);
  for (char& c : place) {
    if (c == '<' || c == '&' || c == '>') c = '_';
  }
  return place;
}

std::string panel_of(const Validation& validation, const std::string& metric, double left,
                     double top) {
  const Axis axis = axis_of(validation, metric);
  const MetricSummary& summary = validation.metrics.at(metric);
  std::string svg = fmt::format("<g transform='translate({:.0f},{:.0f})'>\n", left, top);
  svg += fmt::format("<rect class='frame' width='{0}' height='{0}'/>\n", kPanel);
  svg += fmt::format(
      "<text class='title' x='0' y='-22'>{}</text><text class='note' x='0' y='-8'>n {}, MAPE "
      "{:.2f} %, worst {:.1f} %</text>\n",
      metric, summary.n, summary.mape_pct, summary.worst_pct);
  for (const double tick : ticks_of(axis)) {
    const double at = axis.at(tick);
    svg += fmt::format("<path class='grid' d='M{0:.1f} 0V{1}M0 {2:.1f}H{1}'/>", at, kPanel,
                       kPanel - at);
    svg += fmt::format("<text class='tick' x='{:.1f}' y='{}' text-anchor='middle'>{:g}</text>", at,
                       kPanel + 14, tick);
    svg += fmt::format("<text class='tick' x='-6' y='{:.1f}' text-anchor='end'>{:g}</text>\n",
                       kPanel - at + 4, tick);
  }
  const double shift = std::log10(1 + kBand) / (axis.high - axis.low) * kPanel;
  svg += fmt::format(
      "<path class='exact' d='M0 {0}L{0} 0'/><path class='band' d='M0 {1:.1f}L{2:.1f} 0M{3:.1f} "
      "{0}L{0} {3:.1f}'/>\n",
      kPanel, kPanel - shift, kPanel - shift, shift);
  for (const ValidationRow& row : validation.rows) {
    const auto found = row.metrics.find(metric);
    if (found == row.metrics.end()) continue;
    svg += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3.5'><title>{}: measured {:.5g}, predicted {:.5g} "
        "({:+.1f} %)</title></circle>\n",
        axis.at(found->second.measured), kPanel - axis.at(found->second.predicted), place_of(row),
        found->second.measured, found->second.predicted, 100 * found->second.error());
  }
  return svg + "</g>\n";
}

}  // namespace

std::string validation_svg(const Validation& validation) {
  if (!validation.series.empty()) return series_svg(validation);
  std::vector<std::string> shown;
  for (const char* metric : kShown) {
    if (validation.metrics.count(metric) > 0) shown.emplace_back(metric);
  }
  const std::size_t across = std::min<std::size_t>(3, std::max<std::size_t>(1, shown.size()));
  const std::size_t down = (shown.size() + across - 1) / across;
  const double width = kMargin + static_cast<double>(across) * (kPanel + kMargin);
  const double height = 30 + static_cast<double>(down) * (kPanel + 2 * kMargin);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' "
      "height='{1:.0f}' font-family='system-ui, sans-serif'>\n"
      "<style>.frame{{fill:none;stroke:#8a8f98}}.grid{{stroke:#e3e6ea}}.exact{{stroke:#444;fill:"
      "none}}.band{{stroke:#9aa;fill:none;stroke-dasharray:4 4}}"
      "circle{{fill:#1f77b4;fill-opacity:.75}}.title{{font-size:14px;font-weight:600}}.note{{font-"
      "size:11px;fill:#555}}.tick{{font-size:10px;fill:#555}}</style>\n"
      "<rect width='100%' height='100%' fill='#fff'/>\n"
      "<text x='{2}' y='20' font-size='12' fill='#555'>predicted (up) against measured (across); "
      "line: exact, dashed: within 5 %</text>\n",
      width, height, kMargin);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    svg += panel_of(validation, shown[i],
                    kMargin + static_cast<double>(i % across) * (kPanel + kMargin),
                    30 + kMargin + static_cast<double>(i / across) * (kPanel + 2 * kMargin));
  }
  return svg + "</svg>\n";
}

}  // namespace plateau
