// What the import command prints.
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "calibration/import/import.h"

namespace plateau::imports {

std::string time_text(Clock clock, double seconds) {
  constexpr double kNoDate = 1e12;  // the year 33658
  if (clock == Clock::run || std::abs(seconds) > kNoDate) return fmt::format("{:.3f} s", seconds);
  // Civil date of a day count, the inverse of days_since_1970.
  const auto whole = static_cast<std::int64_t>(std::floor(seconds));
  const std::int64_t offset = clock == Clock::no_year ? 10957 : 0;  // 2000-01-01, a leap year
  const std::int64_t day =
      (whole >= 0 ? whole / 86400 : -((-whole + 86399) / 86400)) + offset + 719468;
  const std::int64_t of_day = whole - (day - offset - 719468) * 86400;
  const std::int64_t era = day / 146097;
  const std::int64_t day_of_era = day - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const std::int64_t month = shifted + (shifted < 10 ? 3 : -9);
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  const std::int64_t day_of_month = day_of_year - (153 * shifted + 2) / 5 + 1;
  const std::string date = clock == Clock::no_year
                               ? fmt::format("{:02}-{:02}", month, day_of_month)
                               : fmt::format("{}-{:02}-{:02}", year, month, day_of_month);
  return fmt::format("{} {:02}:{:02}:{:02}", date, of_day / 3600, of_day / 60 % 60, of_day % 60);
}

namespace {

const char* zone_of(Clock clock) {
  switch (clock) {
    case Clock::epoch:
      return "UTC";
    case Clock::local:
      return "local time, zone not stated";
    case Clock::no_year:
      return "local time, year not stated";
    default:
      return "from the start of the run";
  }
}

std::string file_text(const FileReport& report) {
  std::string text = fmt::format("{}: {}", report.file, report.kind);
  if (!report.engine.empty()) text += ", engine " + report.engine;
  if (!report.era.empty()) text += ", " + report.era;
  text += fmt::format("\n  {} records", report.rows);
  if (report.gpus > 0) text += fmt::format(", {} GPUs or ranks", report.gpus);
  if (report.first_s) {
    text += fmt::format(", {} ({})", span_text(report), zone_of(report.clock));
  }
  text += "\n";
  for (const Ignored& ignored : report.ignored) {
    text += fmt::format("  ignored: {} {}, first at line {}\n", ignored.count, ignored.what,
                        ignored.first_line);
  }
  for (const std::string& warning : report.warnings) text += "  warning: " + warning + "\n";
  return text;
}

std::string fact_text(const Measurement& measurement, const char* name, const char* label) {
  const Fact* fact = measurement.fact(name);
  if (fact == nullptr) return "";
  return fmt::format("{}: {} ({}:{})\n", label,
                     fact->number ? fmt::format("{}", *fact->number) : fact->text,
                     measurement.files[static_cast<std::size_t>(fact->file)].file, fact->line);
}

}  // namespace

std::string span_text(const FileReport& report) {
  if (!report.first_s) return "";
  return time_text(report.clock, *report.first_s) + " to " +
         time_text(report.clock, *report.last_s);
}

std::string last_date(const FileReport& report) {
  const bool dated = report.clock == Clock::epoch || report.clock == Clock::local;
  return dated && report.last_s ? time_text(report.clock, *report.last_s).substr(0, 10) : "";
}

namespace {

// What follows from rounded figures has no more than six digits of its own.
std::string figure(double value) {
  return std::abs(value) >= 1e5 ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

}  // namespace

std::string describe(const Measurement& measurement) {
  std::string text;
  for (const FileReport& report : measurement.files) text += file_text(report);
  text += fact_text(measurement, "model", "model");
  text += fact_text(measurement, "gpu_name", "GPU");
  text += fact_text(measurement, "kv_capacity_tokens", "KV pool, tokens");
  text += fact_text(measurement, "max_running_requests", "most running requests");
  text += fact_text(measurement, "weights_gib", "weights, GiB per GPU");
  for (const Derived& derived : measurement.derived) {
    text += derived.name + " = " + (derived.value ? figure(*derived.value) : "not told");
    if (derived.low && derived.high)
      text += " (" + figure(*derived.low) + " to " + figure(*derived.high) + ")";
    text += ": " + derived.why + "\n";
  }
  for (const auto& [name, series] : measurement.series) {
    if (series.rows() == 0) continue;
    text += fmt::format("series {}: {} rows of", name, series.rows());
    bool first = true;
    for (const Column& column : series.columns()) {
      text += (first ? " " : ", ") + column.name;
      first = false;
    }
    text += "\n";
  }
  return text;
}

}  // namespace plateau::imports
