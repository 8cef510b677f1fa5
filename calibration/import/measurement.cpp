#include "calibration/import/measurement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/import/token.h"
#include "calibration/input_error.h"
#include "calibration/whole.h"

namespace plateau::imports {
namespace {

// A server that restarts in a loop states its facts without end.
constexpr std::size_t kMostFacts = 20000;
constexpr std::size_t kMostWarnings = 50;

}  // namespace

const char* column_of(Clock clock) {
  switch (clock) {
    case Clock::epoch:
      return "epoch_s";
    case Clock::local:
      return "local_s";
    case Clock::no_year:
      return "year_s";
    case Clock::run:
      return "run_s";
    case Clock::none:
      break;
  }
  return "";
}

const Fact* Measurement::fact(std::string_view name) const {
  const Fact* first = nullptr;
  for (const Fact& fact : facts) {
    if (fact.name != name) continue;
    if (fact.preferred) return &fact;
    if (first == nullptr) first = &fact;
  }
  return first;
}

const Series* Measurement::find(std::string_view name) const {
  const auto found = series.find(std::string(name));
  return found == series.end() ? nullptr : &found->second;
}

Series& Recorder::series(std::string_view name) {
  return measurement_.series.try_emplace(std::string(name), std::string(name)).first->second;
}

void Recorder::fact(std::string_view name, double number, std::int64_t line, std::string_view rank,
                    bool preferred) {
  if (!std::isfinite(number)) return;
  if (measurement_.facts.size() >= kMostFacts) return ignore("facts beyond the first 20000", line);
  measurement_.facts.push_back(
      {std::string(name), number, "", file_, line, std::string(rank), preferred});
}

void Recorder::fact_text(std::string_view name, std::string_view text, std::int64_t line,
                         std::string_view rank) {
  if (measurement_.facts.size() >= kMostFacts) return ignore("facts beyond the first 20000", line);
  measurement_.facts.push_back(
      {std::string(name), std::nullopt, std::string(text), file_, line, std::string(rank), false});
}

void Recorder::ignore(std::string_view what, std::int64_t line, std::int64_t count) {
  for (Ignored& ignored : report().ignored) {
    if (ignored.what != what) continue;
    ignored.count += count;
    return;
  }
  report().ignored.push_back({std::string(what), count, line});
}

void Recorder::other_message(std::string_view text, std::int64_t line) {
  const bool smi = contains(text, "NVIDIA-SMI") && contains(text, "Driver Version");
  if (smi || contains(text, "Serving Benchmark Result")) {
    warn(line, std::string(smi ? "a table of nvidia-smi" : "a benchmark's result table") +
                   " stands in this log: save it as a file of its own and import both");
  }
  ignore("lines of other messages", line);
}

void Recorder::warn(std::int64_t line, const std::string& message) {
  std::vector<std::string>& warnings = report().warnings;
  if (warnings.size() > kMostWarnings) return;
  if (warnings.size() == kMostWarnings) {
    warnings.push_back(report().file + ": further warnings are not shown");
    return;
  }
  const std::string place = line > 0 ? ":" + std::to_string(line) : "";
  warnings.push_back(report().file + place + ": " + message);
}

void Recorder::time(Clock clock, double seconds) {
  FileReport& file = report();
  file.clock = clock;
  file.first_s = std::min(file.first_s.value_or(seconds), seconds);
  file.last_s = std::max(file.last_s.value_or(seconds), seconds);
}

void Recorder::fail(std::int64_t line, std::string message, std::string hint) const {
  throw InputError(Problem{measurement_.files[static_cast<std::size_t>(file_)].file,
                           static_cast<int>(line), 0, "", std::move(message), std::move(hint)});
}

void ClockWatch::see(double seconds, std::int64_t line) {
  if (latest_ && seconds < *latest_ - kSlackSeconds) {
    if (times_++ == 0) {
      first_line_ = line;
      first_step_s_ = *latest_ - seconds;
    }
    stepped_ = true;
    latest_ = seconds;
    return;
  }
  latest_ = std::max(latest_.value_or(seconds), seconds);
}

void ClockWatch::finish(Recorder& recorder) const {
  if (times_ == 0) return;
  const std::string more =
      times_ > 1 ? " (and " + std::to_string(times_ - 1) + " times later)" : "";
  recorder.warn(first_line_,
                "the clock goes back by " + std::to_string(whole(first_step_s_)) + " s here" +
                    more +
                    ": two runs in one file, or the clock was set; split the file here "
                    "to keep the runs apart");
}

}  // namespace plateau::imports
