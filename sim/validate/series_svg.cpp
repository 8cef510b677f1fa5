#include "sim/validate/series_svg.h"

#include <fmt/format.h>

#include <algorithm>

namespace plateau {

namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 170;  // of one panel
constexpr double kLeft = 64;
constexpr double kTop = 44;
constexpr double kGap = 60;
constexpr int kTicks = 4;

double largest(const MeasuredSeries& series, double TimedValue::*of) {
  double most = 0;
  for (const auto* points : {&series.measured, &series.predicted}) {
    for (const TimedValue& point : *points) most = std::max(most, point.*of);
  }
  return most > 0 ? most : 1;
}

std::string path_of(const std::vector<TimedValue>& points, double seconds, double most) {
  std::string path;
  for (const TimedValue& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", kWidth * point.s / seconds,
                        kHeight - kHeight * point.value / most);
  }
  return path;
}

std::string panel_of(const MeasuredSeries& series, double seconds, double top) {
  const double most = 1.1 * largest(series, &TimedValue::value);
  std::string svg = fmt::format("<g transform='translate({},{:.0f})'>\n", kLeft, top);
  svg += fmt::format("<text class='title' x='0' y='-10'>{}, {}</text>\n", series.name, series.unit);
  for (int i = 0; i <= kTicks; ++i) {
    const double y = kHeight - kHeight * i / kTicks;
    const double x = kWidth * i / kTicks;
    svg += fmt::format("<path class='grid' d='M0 {0:.1f}H{1}'/>", y, kWidth);
    svg += fmt::format("<text class='tick' x='-6' y='{:.1f}' text-anchor='end'>{:.4g}</text>",
                       y + 4, most * i / kTicks);
    svg +=
        fmt::format("<text class='tick' x='{:.1f}' y='{}' text-anchor='middle'>{:.3g} s</text>\n",
                    x, kHeight + 15, seconds * i / kTicks);
  }
  svg += fmt::format("<path class='measured' d='{}'/>\n", path_of(series.measured, seconds, most));
  svg += fmt::format("<path class='predicted' d='{}'/>\n</g>\n",
                     path_of(series.predicted, seconds, most));
  return svg;
}

}  // namespace

std::string series_svg(const Validation& validation) {
  double seconds = 0;
  for (const MeasuredSeries& series : validation.series)
    seconds = std::max(seconds, largest(series, &TimedValue::s));
  const double width = kLeft + kWidth + 24;
  const double height = kTop + static_cast<double>(validation.series.size()) * (kHeight + kGap);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' "
      "height='{1:.0f}' font-family='system-ui, sans-serif'>\n"
      "<style>.grid{{stroke:#e3e6ea}}.measured{{stroke:#d62728;fill:none;stroke-opacity:.75}}"
      ".predicted{{stroke:#1f77b4;fill:none;stroke-width:1.6}}.title{{font-size:13px;font-weight:"
      "600}}.tick{{font-size:10px;fill:#555}}</style>\n"
      "<rect width='100%' height='100%' fill='#fff'/>\n"
      "<text x='{2}' y='18' font-size='12'><tspan fill='#d62728'>measured</tspan> and <tspan "
      "fill='#1f77b4'>predicted</tspan></text>\n",
      width, height, kLeft);
  for (std::size_t i = 0; i < validation.series.size(); ++i) {
    svg += panel_of(validation.series[i], seconds,
                    kTop + 16 + static_cast<double>(i) * (kHeight + kGap));
  }
  return svg + "</svg>\n";
}

}  // namespace plateau
