#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/calibrate/calibration.h"

namespace plateau {

namespace {

constexpr double kWidth = 420;  // px, one plot
constexpr double kHeight = 240;
constexpr double kMargin = 60;
constexpr double kPanel = kHeight + 92;  // with its title and the names of its axis
constexpr double kHead = 34;

struct Extent {
  double low = 0;
  double high = 1;
  double share(double value) const { return (value - low) / (high - low); }
};

// Running requests across, on a logarithm; a lone value gets room around it.
Extent across(const CalibrationResult& result, const char* quantity) {
  Extent extent{1e300, 0};
  for (const SamplePoint& point : result.points) {
    if (point.quantity != std::string(quantity)) continue;
    extent.low = std::min(extent.low, std::max(point.running, 1.0));
    extent.high = std::max(extent.high, std::max(point.running, 1.0));
  }
  return {std::log10(extent.low / 1.1), std::log10(extent.high * 1.1)};
}

double residual_pct(double predicted, double measured) { return 100 * (predicted / measured - 1); }

// Percent up and down, the same in both directions: a round number that holds every point, or the
// largest.
double reach(const CalibrationResult& result, const char* quantity) {
  double most = 1;
  for (const SamplePoint& point : result.points) {
    if (point.quantity != std::string(quantity)) continue;
    most = std::max({most, std::abs(residual_pct(point.base, point.measured)),
                     std::abs(residual_pct(point.fitted, point.measured))});
  }
  for (const double round : {1, 2, 4, 6, 10, 16, 20, 30, 40, 60, 100}) {
    if (round >= 1.03 * most) return round;
  }
  return 200;
}

// 1, 2 and 5 of every decade inside.
std::vector<double> ticks(const Extent& x) {
  std::vector<double> values;
  for (int power = static_cast<int>(std::floor(x.low)); power <= x.high + 1; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double share = x.share(std::log10(digit * std::pow(10, power)));
      if (share >= 0 && share <= 1) values.push_back(digit * std::pow(10, power));
    }
  }
  return values;
}

std::string axes(const Extent& x, double most) {
  std::string svg = fmt::format("<rect class='frame' width='{}' height='{}'/>\n", kWidth, kHeight);
  for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    const double at = kHeight * (0.5 - 0.5 * share);
    svg += fmt::format("<path class='{}' d='M0 {:.1f}H{}'/>", share == 0 ? "exact" : "grid", at,
                       kWidth);
    svg += fmt::format("<text class='tick' x='-6' y='{:.1f}' text-anchor='end'>{:+g} %</text>\n",
                       at + 4, share * most);
  }
  std::vector<double> values = ticks(x);
  if (values.empty()) values = {std::round(std::pow(10, 0.5 * (x.low + x.high)))};
  for (const double value : values) {
    svg += fmt::format("<text class='tick' x='{:.1f}' y='{}' text-anchor='middle'>{:g}</text>\n",
                       x.share(std::log10(value)) * kWidth, kHeight + 14, value);
  }
  svg +=
      fmt::format("<text class='tick' x='{}' y='{}' text-anchor='middle'>running requests</text>\n",
                  kWidth / 2, kHeight + 30);
  return svg;
}

std::string dots(const CalibrationResult& result, const char* quantity, const Extent& x,
                 double most) {
  std::string svg;
  for (const char* kind : {"base", "fitted"}) {
    const bool base = kind == std::string("base");
    for (const SamplePoint& point : result.points) {
      if (point.quantity != std::string(quantity)) continue;
      const double predicted = base ? point.base : point.fitted;
      const double pct = residual_pct(predicted, point.measured);
      const double up = 0.5 - 0.5 * std::clamp(pct / most, -1.0, 1.0);
      svg += fmt::format(
          "<circle class='{}' cx='{:.1f}' cy='{:.1f}' r='3'><title>{}:{}: {:g} running, measured "
          "{:.5g}, {} {:.5g} ({:+.1f} %)</title></circle>\n",
          kind, x.share(std::log10(std::max(point.running, 1.0))) * kWidth, up * kHeight,
          point.file, point.line, point.running, point.measured, kind, predicted, pct);
    }
  }
  return svg;
}

std::string panel(const CalibrationResult& result, const FitQuality& quantity, double top) {
  const Extent x = across(result, quantity.name);
  const double most = reach(result, quantity.name);
  std::string svg = fmt::format("<g transform='translate({},{:.0f})'>\n", kMargin, top);
  svg += fmt::format(
      "<text class='title' x='0' y='-22'>{}</text><text class='note' x='0' y='-8'>{} samples, "
      "mean error {:.1f} % before, {:.2f} % fitted{}</text>\n",
      quantity.name, quantity.samples, quantity.base_mape_pct, quantity.fitted_mape_pct,
      quantity.cross_mape_pct ? fmt::format(", {:.2f} % left out", *quantity.cross_mape_pct) : "");
  return svg + axes(x, most) + dots(result, quantity.name, x, most) + "</g>\n";
}

}  // namespace

std::string calibration_svg(const CalibrationResult& result) {
  const auto panels = static_cast<double>(std::max<std::size_t>(1, result.quantities.size()));
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' "
      "height='{1:.0f}' font-family='system-ui, sans-serif'>\n"
      "<style>.frame{{fill:none;stroke:#8a8f98}}.grid{{stroke:#e3e6ea}}.exact{{stroke:#444}}"
      ".base{{fill:#b8bdc5}}.fitted{{fill:#1f77b4;fill-opacity:.75}}.title{{font-size:14px;"
      "font-weight:600}}.note{{font-size:11px;fill:#555}}.tick{{font-size:10px;fill:#555}}"
      "</style>\n<rect width='100%' height='100%' fill='#fff'/>\n"
      "<g transform='translate({2},24)'><text class='note'>predicted over measured</text>"
      "<circle class='base' cx='160' cy='-4' r='4'/><text class='note' x='170'>base</text>"
      "<circle class='fitted' cx='220' cy='-4' r='4'/><text class='note' x='230'>fitted</text>"
      "</g>\n",
      kWidth + 1.5 * kMargin, kHead + panels * kPanel, kMargin);
  for (std::size_t i = 0; i < result.quantities.size(); ++i) {
    svg += panel(result, result.quantities[i], kHead + 46 + static_cast<double>(i) * kPanel);
  }
  return svg + "</svg>\n";
}

}  // namespace plateau
