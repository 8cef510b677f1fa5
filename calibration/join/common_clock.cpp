#include "calibration/join/common_clock.h"

#include <algorithm>
#include <cmath>

#include "calibration/import/import.h"
#include "calibration/import/series_reader.h"
#include "calibration/input_error.h"

namespace plateau::join {

namespace {

using imports::Clock;
using imports::FileReport;
using imports::Measurement;

constexpr double kDay = 86400;

// Seconds from 1970 to 1 January of the year of a local time, and whether that year has a leap day.
struct Year {
  double start_s = 0;
  bool leap = false;
};
Year year_of(double local_s) {
  const int year = std::stoi(imports::time_text(Clock::local, local_s).substr(0, 4));
  double days = 0;
  const auto is_leap = [](int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); };
  for (int y = 1970; y < year; ++y) days += is_leap(y) ? 366 : 365;
  return {days * kDay, is_leap(year)};
}

[[noreturn]] void refuse(const FileReport& file, const std::string& message,
                         const std::string& hint) {
  throw InputError(Problem{file.file, 0, 0, "", message, hint});
}

// Date and time where the file tells one without a question.
std::optional<double> dated(const FileReport& file, const ClockOptions& options) {
  if (!file.first_s) return std::nullopt;
  if (file.clock == Clock::local) return file.first_s;
  if (file.clock == Clock::epoch && options.utc_offset_h)
    return *file.first_s + 3600 * *options.utc_offset_h;
  return std::nullopt;
}

// What a file's own clock lacks to the common one.
double shift_of(const FileReport& file, const FileReport& steps, bool run_only, bool epoch_only,
                const std::optional<double>& dated_s, const ClockOptions& options) {
  switch (file.clock) {
    case Clock::local:
      return 0;
    case Clock::epoch:
      if (epoch_only) return 0;
      if (!options.utc_offset_h)
        refuse(file, "tells UTC, " + steps.file + " local time",
               "state the zone: --utc-offset HOURS");
      return 3600 * *options.utc_offset_h;
    case Clock::no_year: {
      if (!dated_s) return 0;  // all lack it
      const Year year = year_of(*dated_s);
      const bool after_february = *file.first_s >= 60 * kDay;
      return year.start_s - (!year.leap && after_february ? kDay : 0);
    }
    case Clock::none:
    case Clock::run:
      if (run_only) return 0;
      if (&file == &steps)
        refuse(file, "counts its time from the start of a run, the other files tell dates",
               "give files of one clock");
      if (options.offsets.count(file.file) == 0)
        refuse(
            file,
            file.clock == Clock::run ? "counts its time from the start of a run" : "tells no time",
            "state its start after the first line of " + steps.file + ": --offset " + file.file +
                "=SECONDS");
      return *steps.first_s;
  }
  return 0;
}

}  // namespace

std::optional<double> time_of(const imports::Series& series, const imports::Series::Row& row,
                              Clock clock) {
  if (clock == Clock::none) return 0;
  return imports::SeriesReader(series)(row, imports::column_of(clock));
}

CommonClock::CommonClock(const Measurement& measurement, int steps, const std::vector<int>& used,
                         const ClockOptions& options) {
  const auto file = [&](int i) -> const FileReport& {
    return measurement.files[static_cast<std::size_t>(i)];
  };
  const auto all = [&](Clock clock) {
    return std::all_of(used.begin(), used.end(), [&](int i) { return file(i).clock == clock; });
  };
  const bool run_only = all(Clock::run);
  const bool epoch_only = all(Clock::epoch);
  std::optional<double> dated_s;
  for (const int i : used) {
    if (!dated_s) dated_s = dated(file(i), options);
  }
  const auto place = [&](int i) {
    double shift = shift_of(file(i), file(steps), run_only, epoch_only, dated_s, options);
    if (!run_only && i != steps && (file(i).clock == Clock::run || file(i).clock == Clock::none))
      shift += shift_[steps];
    const auto stated = options.offsets.find(file(i).file);
    if (stated != options.offsets.end()) shift += stated->second;
    shift_[i] = shift;
  };
  place(steps);
  for (const int i : used) {
    if (i != steps) place(i);
  }
}

}  // namespace plateau::join
