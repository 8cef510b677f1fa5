#include "calibration/join/power_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/import/import.h"
#include "calibration/import/series_reader.h"
#include "calibration/input_error.h"
#include "calibration/whole.h"

namespace plateau::join {

namespace {

using imports::Clock;
using imports::FileReport;
using imports::Measurement;
using imports::Series;
using imports::SeriesReader;

struct Sample {
  int file = 0;
  std::int64_t line = 0;
  int gpu = 0;
  double time_s = 0;  // common clock
  double watts = 0;
};

std::optional<double> watts_of(const Series::Row& row, const SeriesReader& read) {
  for (const char* column : {"power_w", "power_average_w", "power_instant_w"}) {
    if (const auto watts = read(row, column)) return watts;
  }
  return std::nullopt;
}

const FileReport& report_of(const Measurement& measurement, int file) {
  return measurement.files[static_cast<std::size_t>(file)];
}

std::vector<int> power_files(const Measurement& measurement) {
  std::set<int> files;
  if (const Series* series = measurement.find("gpu_samples")) {
    const SeriesReader read(*series);
    series->for_each([&](const Series::Row& row) {
      if (watts_of(row, read)) files.insert(row.file);
    });
  }
  return {files.begin(), files.end()};
}

std::vector<Sample> samples_of(const Measurement& measurement, const CommonClock& clock) {
  std::vector<Sample> samples;
  const Series* series = measurement.find("gpu_samples");
  const SeriesReader read(*series);
  series->for_each([&](const Series::Row& row) {
    const auto watts = watts_of(row, read);
    const auto time = time_of(*series, row, report_of(measurement, row.file).clock);
    if (!watts || !time) return;
    samples.push_back({row.file, row.line, whole<int>(read(row, "gpu").value_or(0)),
                       clock.at(row.file, *time), *watts});
  });
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.time_s < b.time_s; });
  return samples;
}

// The server's log and the power log have no moment in common.
[[noreturn]] void refuse(const Measurement& measurement, int power, int steps, double early_s) {
  const FileReport& a = report_of(measurement, power);
  const FileReport& b = report_of(measurement, steps);
  const double hours = early_s / 3600;
  const bool zone = std::abs(hours - std::round(hours)) < 0.25 && std::abs(hours) > 0.5;
  throw InputError(Problem{
      a.file, 0, 0, "",
      fmt::format("does not meet {} in time: {} against {}", b.file, imports::span_text(a),
                  imports::span_text(b)),
      zone ? fmt::format("another time zone? --offset {}={:.0f}", a.file, 3600 * std::round(hours))
           : fmt::format("state what its clock lacks: --offset {}=SECONDS", a.file)});
}

class Splitter {
 public:
  Splitter(const CommonClock& clock, double resolution) : clock_(clock), resolution_(resolution) {}

  // The samples of a stretch; `taken` marks them.
  std::vector<PowerWindow> inside(const std::vector<Window>& windows,
                                  const std::vector<Sample>& samples, std::vector<bool>* taken,
                                  int* count) const {
    std::vector<PowerWindow> result;
    for (const Window& window : windows) {
      const double from = clock_.at(window.file, window.start_s) + resolution_ + kMeter;
      const double to = clock_.at(window.file, window.end_s);
      auto at = std::lower_bound(samples.begin(), samples.end(), from,
                                 [](const Sample& s, double time) { return s.time_s < time; });
      std::map<int, PowerWindow> by_gpu;
      for (; at != samples.end() && at->time_s <= to; ++at, ++*count) {
        (*taken)[static_cast<std::size_t>(at - samples.begin())] = true;
        PowerWindow& power =
            by_gpu.try_emplace(at->gpu, PowerWindow{window, at->gpu, 0, 0, at->file, at->line})
                .first->second;
        ++power.samples;
        power.watts += (at->watts - power.watts) / power.samples;
      }
      for (const auto& [gpu, power] : by_gpu) result.push_back(power);
    }
    return result;
  }

 private:
  const CommonClock& clock_;
  double resolution_;
};

int steps_file(const Measurement& measurement, const imports::DecodeSamples& samples) {
  for (const imports::DecodeSample& sample : samples.samples) {
    if (sample.start_s && report_of(measurement, sample.file).clock != Clock::none)
      return sample.file;
  }
  return -1;
}

}  // namespace

bool has_power(const Measurement& measurement) { return !power_files(measurement).empty(); }

PowerSplit split_power(const Measurement& measurement, const imports::DecodeSamples& samples,
                       const ClockOptions& options) {
  PowerSplit split;
  const std::vector<int> powers = power_files(measurement);
  const int steps = steps_file(measurement, samples);
  if (powers.empty() || steps < 0) return split;
  std::vector<Window> steady = steady_windows(samples);
  const double resolution = resolution_of(steady);
  std::vector<int> used = powers;
  for (const Window& window : steady) used.push_back(window.file);
  used.push_back(steps);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  const CommonClock clock(measurement, steps, used, options);
  const std::vector<Sample> all = samples_of(measurement, clock);
  std::vector<bool> taken(all.size());
  const Splitter splitter(clock, resolution);
  split.steady = splitter.inside(steady, all, &taken, &split.in_steady);
  split.idle = splitter.inside(idle_windows(measurement, samples), all, &taken, &split.in_idle);
  const FileReport& log = report_of(measurement, steps);
  const double first = clock.at(steps, *log.first_s);
  const double last = clock.at(steps, *log.last_s) + resolution;
  std::set<int> gpus;
  for (std::size_t i = 0; i < all.size(); ++i) {
    gpus.insert(all[i].gpu);
    const bool outside = all[i].time_s < first || all[i].time_s > last;
    if (!taken[i]) ++(outside ? split.outside : split.changing);
  }
  split.gpus = static_cast<int>(gpus.size());
  if (!all.empty() && split.outside == static_cast<int>(all.size()))
    refuse(measurement, powers.front(), steps, first - all.front().time_s);
  return split;
}

}  // namespace plateau::join
