#include "calibration/join/windows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "calibration/join/common_clock.h"

namespace plateau::join {

namespace {

using imports::DecodeSample;

struct Open {
  Window window;
  double token_seconds = 0;
  double told_s = 0;

  void add(const DecodeSample& sample) {
    const double seconds = *sample.end_s - *sample.start_s;
    window.last_line = sample.line;
    window.end_s = *sample.end_s;
    if (!sample.held_tokens) return;
    token_seconds +=
        seconds * 0.5 * (sample.held_before.value_or(*sample.held_tokens) + *sample.held_tokens);
    told_s += seconds;
  }

  Window closed() const {
    Window result = window;
    if (told_s > 0) result.held_tokens = token_seconds / told_s;
    return result;
  }
};

// A step trace's next step starts a host gap after its last one ended.
constexpr double kLargestGap = 0.05;  // s

bool continues(const Open& open, const DecodeSample& sample) {
  const double slack = sample.source == imports::StepSource::step_trace ? kLargestGap : 0;
  return open.window.running_requests == sample.running_requests &&
         *sample.start_s >= open.window.end_s && *sample.start_s - open.window.end_s <= slack;
}

// Times of everything a server logged that it did, by file.
std::map<int, std::vector<Window>> events_of(const imports::Measurement& measurement) {
  std::map<int, std::vector<Window>> events;
  for (const char* name : {"decode", "prefill", "retraction", "steps"}) {
    const imports::Series* series = measurement.find(name);
    if (series == nullptr) continue;
    series->for_each([&](const imports::Series::Row& row) {
      const auto clock = measurement.files[static_cast<std::size_t>(row.file)].clock;
      const auto time = time_of(*series, row, clock);
      if (time) events[row.file].push_back({row.file, row.line, row.line, *time, *time, 0, 0});
    });
  }
  for (auto& [file, list] : events) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Window& a, const Window& b) { return a.start_s < b.start_s; });
  }
  return events;
}

}  // namespace

std::vector<Window> steady_windows(const imports::DecodeSamples& samples) {
  std::vector<Window> windows;
  std::map<std::pair<int, int>, Open> open;
  for (const DecodeSample& sample : samples.samples) {
    if (!sample.start_s || !sample.end_s || *sample.end_s < *sample.start_s) continue;
    const bool period_of_trace =
        sample.source == imports::StepSource::step_trace && sample.host_included;
    if (period_of_trace) continue;
    const auto key = std::pair(sample.file, sample.dp_rank);
    const auto found = open.find(key);
    if (found != open.end() && continues(found->second, sample)) {
      found->second.add(sample);
      continue;
    }
    if (found != open.end()) windows.push_back(found->second.closed());
    Open fresh;
    fresh.window = {sample.file,
                    sample.line,
                    sample.line,
                    *sample.start_s,
                    *sample.end_s,
                    sample.running_requests,
                    0};
    fresh.add(sample);
    open[key] = fresh;
  }
  for (const auto& [key, last] : open) windows.push_back(last.closed());
  std::stable_sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) {
    return std::pair(a.file, a.start_s) < std::pair(b.file, b.start_s);
  });
  return windows;
}

std::vector<Window> idle_windows(const imports::Measurement& measurement,
                                 const imports::DecodeSamples& samples) {
  std::map<int, double> longest;  // between two lines of one batch
  for (const DecodeSample& sample : samples.samples) {
    if (sample.start_s && sample.end_s)
      longest[sample.file] = std::max(longest[sample.file], *sample.end_s - *sample.start_s);
  }
  std::vector<Window> idle;
  for (const auto& [file, events] : events_of(measurement)) {
    const auto known = longest.find(file);
    if (known == longest.end()) continue;  // how long a silence may hide steps is not known
    const double silence = 2 * known->second + kLeastIdle;
    for (std::size_t i = 1; i < events.size(); ++i) {
      const Window& before = events[i - 1];
      const Window& after = events[i];
      if (after.start_s - before.start_s <= silence) continue;
      idle.push_back({file, before.first_line, after.first_line, before.start_s + silence,
                      after.start_s, 0, 0});
    }
  }
  return idle;
}

double resolution_of(const std::vector<Window>& windows) {
  const bool whole = std::all_of(windows.begin(), windows.end(), [](const Window& w) {
    return w.start_s == std::floor(w.start_s) && w.end_s == std::floor(w.end_s);
  });
  return whole ? 1 : 0;
}

}  // namespace plateau::join
