// `plateau calibrate --power-runs` and `--cap-sweep`: laws of watts from measured runs, with the
// errors of what was left out.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "calibration/clock_fit.h"
#include "calibration/power_curve.h"
#include "sim/cli/commands.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

struct Group {  // series that share a label
  int series = 0;
  int runs = 0;
  int in_band = 0;
  double mean_error = 0;
  double edge_error = 0;
  double worst = 0;
  std::string worst_name;
};

// By the column `arch` where the file has one, and over all.
std::map<std::string, Group> groups_of(const PowerRunsSummary& summary) {
  std::map<std::string, Group> groups;
  for (const PowerSeries& series : summary.series) {
    if (series.left_out.empty()) continue;
    std::vector<std::string> names = {"all"};
    const auto arch = series.labels.find("arch");
    if (arch != series.labels.end()) names.push_back(arch->second);
    for (const std::string& name : names) {
      Group& group = groups[name];
      ++group.series;
      group.mean_error += series.mean_error;
      group.edge_error += series.edge_error;
      for (const LeftOutRun& run : series.left_out) {
        ++group.runs;
        const double watts = run.run.watts;
        if (watts >= run.predicted.low && watts <= run.predicted.high) ++group.in_band;
      }
      if (series.mean_error <= group.worst) continue;
      group.worst = series.mean_error;
      group.worst_name = series.name;
    }
  }
  for (auto& [name, group] : groups) {
    group.mean_error /= group.series;
    group.edge_error /= group.series;
  }
  return groups;
}

std::string skipped_text(const SkippedRows& skipped) {
  std::string text;
  for (const auto& [reason, rows] : skipped)
    text += fmt::format("{} rows left out: {}\n", rows, reason);
  return text;
}

std::string to_text(const PowerRunsSummary& summary) {
  std::string text = "Each batch left out once and predicted by the others of its configuration\n";
  text += fmt::format("{:>8} {:>8} {:>8} {:>8}  {}\n", "batches", "mean", "edges", "worst",
                      "configuration");
  for (const PowerSeries& s : summary.series) {
    if (s.left_out.empty()) {
      text += fmt::format("{:>8} {:>8} {:>8} {:>8}  {}\n", s.runs.size(), "-", "-", "-", s.name);
    } else {
      text += fmt::format("{:>8} {:>7.1f}% {:>7.1f}% {:>7.1f}%  {}\n", s.runs.size(),
                          100 * s.mean_error, 100 * s.edge_error, 100 * s.worst_error, s.name);
    }
  }
  text += '\n';
  for (const auto& [name, group] : groups_of(summary)) {
    text += fmt::format(
        "{}: {} configurations, mean {:.2f} %, edges {:.1f} %; {:.0f} % of runs "
        "in the 90 % band; worst {:.1f} %: {}\n",
        name, group.series, 100 * group.mean_error, 100 * group.edge_error,
        100.0 * group.in_band / group.runs, 100 * group.worst, group.worst_name);
  }
  return text + skipped_text(summary.skipped) +
         "To use one: its rows in a file of their own, and calibration.power_runs in the "
         "scenario\n";
}

Json curve_of(const PowerSeries& series) {
  Json curve = Json::array();
  const PowerCurve law(series.runs);
  for (double batch = 1; batch <= 4096; batch *= 2) {
    const Estimate watts = law.watts(batch);
    curve.push_back(
        {{"batch", batch}, {"gpu_w", watts.value}, {"low", watts.low}, {"high", watts.high}});
  }
  return curve;
}

Json to_json(const PowerRunsSummary& summary) {
  Json json;
  json["schema"] = "plateau-power-runs/1";
  json["groups"] = Json::object();
  for (const auto& [name, group] : groups_of(summary)) {
    json["groups"][name] = {{"series", group.series},
                            {"mean_pct", 100 * group.mean_error},
                            {"edge_pct", 100 * group.edge_error},
                            {"worst_pct", 100 * group.worst},
                            {"in_band_pct", 100.0 * group.in_band / group.runs},
                            {"worst_series", group.worst_name}};
  }
  json["series"] = Json::array();
  for (const PowerSeries& series : summary.series) {
    Json entry = {
        {"name", series.name}, {"labels", series.labels}, {"batches", series.runs.size()}};
    if (!series.left_out.empty()) {
      entry["mean_pct"] = 100 * series.mean_error;
      entry["edge_pct"] = 100 * series.edge_error;
      entry["worst_pct"] = 100 * series.worst_error;
    }
    entry["left_out"] = Json::array();
    for (const LeftOutRun& run : series.left_out) {
      entry["left_out"].push_back({{"line", run.run.line},
                                   {"batch", run.run.batch},
                                   {"measured", run.run.watts},
                                   {"predicted", run.predicted.value},
                                   {"low", run.predicted.low},
                                   {"high", run.predicted.high}});
    }
    entry["curve"] = curve_of(series);
    json["series"].push_back(std::move(entry));
  }
  return json;
}

std::string to_text(const CapSweepSummary& summary) {
  const ClockLaw& law = summary.fit.law;
  std::string text = fmt::format(
      "clock:  # of all sweeps; relative watts within {:.1f} %\n  max: {:.0f} MHz\n  min: {:.0f} "
      "MHz\n  knee: {:.0f} MHz\n  voltage_rise: {:.3f}\n  static: {:.0f} W\n  base_share: "
      "{:.3f}\n  source: measured\n",
      100 * summary.fit.power_residual, law.max_mhz, law.min_mhz, law.knee_mhz, law.voltage_rise,
      law.static_w, law.base_share);
  for (const CapSweepResult& result : summary.held_out) {
    text +=
        fmt::format("\n{}, worst {:.1f} %\n  law of: {}\n  {:>7} {:>9} {:>9} {:>11} {:>11} {:>7}\n",
                    result.sweep.name, 100 * result.worst_error, result.fitted_on, "cap W", "MHz",
                    "measured", "throughput", "measured", "error");
    for (const CapPrediction& at : result.predictions) {
      text += fmt::format("  {:>7.0f} {:>9.0f} {:>9.0f} {:>11.1f} {:>11.1f} {:>+6.1f}%\n",
                          at.point.cap_w, at.mhz, at.point.mhz, at.rate, at.point.rate,
                          100 * at.error());
    }
  }
  return text + "\n" + skipped_text(summary.skipped);
}

Json to_json(const CapSweepSummary& summary) {
  const ClockLaw& law = summary.fit.law;
  Json json;
  json["schema"] = "plateau-cap-sweep/1";
  json["clock"] = {
      {"max_mhz", law.max_mhz},       {"min_mhz", law.min_mhz},
      {"knee_mhz", law.knee_mhz},     {"voltage_rise", law.voltage_rise},
      {"static_w", law.static_w},     {"base_share", law.base_share},
      {"shares", summary.fit.shares}, {"power_residual_pct", 100 * summary.fit.power_residual}};
  json["held_out"] = Json::array();
  for (const CapSweepResult& result : summary.held_out) {
    Json entry = {{"name", result.sweep.name},
                  {"labels", result.sweep.labels},
                  {"law_of", result.fitted_on},
                  {"worst_pct", 100 * result.worst_error},
                  {"points", Json::array()}};
    for (const CapPrediction& at : result.predictions) {
      entry["points"].push_back({{"cap_w", at.point.cap_w},
                                 {"mhz", at.mhz},
                                 {"measured_mhz", at.point.mhz},
                                 {"predicted", at.rate},
                                 {"measured", at.point.rate},
                                 {"error_pct", 100 * at.error()}});
    }
    json["held_out"].push_back(std::move(entry));
  }
  return json;
}

template <class Summary>
void show(const Summary& summary, const CalibrateArguments& arguments, const Terminal& terminal) {
  Json json = to_json(summary);
  json["rows_left_out"] = Json::object();
  for (const auto& [reason, rows] : summary.skipped) json["rows_left_out"][reason] = rows;
  if (!arguments.common.json.empty())
    write_json(json.dump(2) + "\n", arguments.common.json, terminal);
  if (arguments.common.json != "-") *terminal.out << to_text(summary);
}

}  // namespace

int calibrate_power_command(const CalibrateArguments& arguments, const Terminal& terminal) {
  if (!arguments.power_runs.empty()) {
    show(read_power_runs(arguments.power_runs, arguments.where), arguments, terminal);
  }
  if (!arguments.cap_sweep.empty()) {
    show(read_cap_sweeps(arguments.cap_sweep, arguments.where, arguments.hold_out), arguments,
         terminal);
  }
  return kDone;
}

}  // namespace plateau
