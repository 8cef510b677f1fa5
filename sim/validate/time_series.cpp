#include "sim/validate/time_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"
#include "sim/validate/measured_file.h"
#include "sim/validate/step_log.h"

namespace plateau {

namespace {

namespace fs = std::filesystem;

constexpr double kMeterWindow = 1;  // s, of the board's own average
constexpr const char* kTraceColumns[] = {"phase", "start_s", "requests", "tokens", "ms"};
constexpr const char* kPowerColumns[] = {"t_s", "power_w", "sm_mhz", "util_pct"};

struct TraceStep {
  bool decode = false;
  double start_s = 0;
  double requests = 0;
  double tokens = 0;
  double ms = 0;
  int line = 0;
};

struct PowerSample {
  double s = 0;
  double watts = 0;
  int line = 0;
};

bool is_trace(const CsvTable& table) { return table.has("phase") && table.has("start_s"); }

template <std::size_t N>
void check_columns(const CsvTable& table, const char* const (&known)[N],
                   std::vector<Problem>& problems) {
  const std::vector<std::string> names(std::begin(known), std::end(known));
  for (const std::string& column : table.columns()) {
    if (std::find(names.begin(), names.end(), column) != names.end()) continue;
    const std::string near = closest(column, names);
    problems.push_back(
        Problem{table.file(), 1, 0, column, "unknown column",
                near.empty() ? "a series has none of that name" : "did you mean " + near + "?"});
  }
}

double cell(const CsvTable& table, std::size_t row, const char* column, bool zero_allowed,
            std::vector<Problem>& problems) {
  const std::size_t at = table.column(column);
  const auto value = parse_number(table.text(row, at));
  if (value && (*value > 0 || (zero_allowed && *value == 0))) return *value;
  const std::string text(table.text(row, at));
  problems.push_back(
      table.problem(row, at, text.empty() ? "is missing" : "'" + text + "' is impossible here",
                    zero_allowed ? "a number, 0 or above" : "a number above 0"));
  return 1;
}

std::vector<TraceStep> read_trace(const CsvTable& table) {
  std::vector<Problem> problems;
  check_columns(table, kTraceColumns, problems);
  const std::size_t phase = table.column("phase");
  std::vector<TraceStep> steps;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view name = table.text(row, phase);
    if (name != "decode" && name != "prefill") {
      problems.push_back(table.problem(row, phase, "'" + std::string(name) + "' is no phase",
                                       "prefill or decode"));
    }
    steps.push_back({name == "decode", cell(table, row, "start_s", true, problems),
                     cell(table, row, "requests", false, problems),
                     cell(table, row, "tokens", false, problems),
                     cell(table, row, "ms", false, problems), table.line(row)});
  }
  if (!problems.empty()) throw InputError(problems);
  return steps;
}

std::vector<PowerSample> read_power(const CsvTable& table) {
  std::vector<Problem> problems;
  check_columns(table, kPowerColumns, problems);
  std::vector<PowerSample> samples;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    samples.push_back({cell(table, row, "t_s", true, problems),
                       cell(table, row, "power_w", false, problems), table.line(row)});
    for (const char* column : {"sm_mhz", "util_pct"}) {
      if (table.has(column)) (void)cell(table, row, column, true, problems);
    }
  }
  if (!problems.empty()) throw InputError(problems);
  return samples;
}

// trace_X.csv beside power_X.csv; empty when there is none.
std::vector<TraceStep> trace_of_power_log(const fs::path& path) {
  const std::string prefix = "power_";
  const std::string name = path.filename().string();
  if (name.rfind(prefix, 0) != 0) return {};
  const fs::path trace = path.parent_path() / ("trace_" + name.substr(prefix.size()));
  if (!fs::exists(trace)) return {};
  return read_trace(CsvTable::read(trace.string()));
}

std::pair<std::int64_t, std::int64_t> count_steps(const std::vector<TraceStep>& steps) {
  const auto decode =
      std::count_if(steps.begin(), steps.end(), [](const TraceStep& step) { return step.decode; });
  return {decode, static_cast<std::int64_t>(steps.size()) - decode};
}

// The scenario keys of the run that left this trace: the row of serving_runs.csv beside it with as
// many decode and prefill steps, and of several the one that lasted as long.
std::vector<std::string> run_of(const std::vector<TraceStep>& trace, const fs::path& folder,
                                std::vector<std::string>& notes) {
  if (trace.empty()) {
    notes.push_back("no trace beside the file: the base scenario is taken as its run");
    return {};
  }
  const std::string runs = (folder / "serving_runs.csv").string();
  const auto [decode, prefill] = count_steps(trace);
  const std::string steps = fmt::format("{} decode and {} prefill steps", decode, prefill);
  if (!fs::exists(runs)) {
    notes.push_back("no serving_runs.csv beside the file: the base scenario is taken as its run");
    return {};
  }
  MeasuredFile file(runs, measured_columns());
  const double seconds = trace.back().start_s + trace.back().ms * 1e-3;
  std::optional<std::size_t> found;
  double nearest = 0;
  for (std::size_t row = 0; row < file.table().rows(); ++row) {
    if (!file.has("decode_steps", row) || !file.has("prefill_batches", row) ||
        file.number("decode_steps", row, true) != static_cast<double>(decode) ||
        file.number("prefill_batches", row, true) != static_cast<double>(prefill))
      continue;
    const double lasted =
        file.has("seconds", row) ? file.number("seconds", row, false).value_or(0) : 0;
    if (found && std::abs(lasted - seconds) >= nearest) continue;
    found = row;
    nearest = std::abs(lasted - seconds);
  }
  if (!found) {
    notes.push_back(
        fmt::format("no row of {} has {}: the base scenario is taken as its run", runs, steps));
    return {};
  }
  notes.push_back(fmt::format("the run is line {} of {}, which has its {}",
                              file.table().line(*found), runs, steps));
  return file.sets(*found);
}

StepShape shape_of(const TraceStep& step, const Deployment& deployment) {
  if (step.decode) return deployment.decode_shape(step.requests, step.tokens / step.requests);
  StepShape shape;
  shape.prefill_sequences = step.requests;
  shape.prefill_tokens = step.tokens;
  shape.prefill_context_tokens = step.tokens;
  shape.prefill_attended = step.tokens * (step.tokens / step.requests + 1) / 2;
  return shape;
}

void add_total(ValidationRow& row, const char* metric, double measured, double predicted) {
  if (measured > 0 && predicted > 0) row.metrics[metric] = {measured, predicted, {}, {}};
}

double mean_running(const std::vector<TraceStep>& steps) {
  double sum = 0;
  double n = 0;
  for (const TraceStep& step : steps) {
    if (!step.decode) continue;
    sum += step.requests;
    ++n;
  }
  return n > 0 ? sum / n : 0;
}

std::vector<TraceStep> as_trace(const StepLog& log) {
  std::vector<TraceStep> steps;
  for (const LoggedStep& step : log.steps()) {
    steps.push_back({step.decode, step.start_s, step.requests, step.tokens,
                     (step.end_s - step.start_s) * 1e3, 0});
  }
  return steps;
}

void compare_steps(const std::vector<TraceStep>& trace, const std::vector<TraceStep>& simulated,
                   Deployment& deployment, Validation& validation) {
  std::vector<const TraceStep*> decodes;
  for (const TraceStep& step : simulated) {
    if (step.decode) decodes.push_back(&step);
  }
  std::size_t decoded = 0;
  for (const TraceStep& step : trace) {
    ValidationRow row;
    row.line = step.line;
    row.name =
        fmt::format("{} of {:.0f} requests, {:.0f} tokens at {:.2f} s",
                    step.decode ? "decode" : "prefill", step.requests, step.tokens, step.start_s);
    row.inputs = {{"phase", step.decode ? "decode" : "prefill"},
                  {"requests", fmt::format("{:.0f}", step.requests)},
                  {"tokens", fmt::format("{:.0f}", step.tokens)}};
    const StepCost& cost = deployment.cost(shape_of(step, deployment));
    row.metrics[step.decode ? "step_ms" : "prefill_ms"] = {
        step.ms, cost.seconds * 1e3, cost.low_seconds * 1e3, cost.high_seconds * 1e3};
    if (step.decode && decoded < decodes.size())
      add_total(row, "running", step.requests, decodes[decoded]->requests);
    decoded += step.decode ? 1 : 0;
    validation.rows.push_back(std::move(row));
  }
}

MeasuredSeries drawn(const char* name, const char* unit, bool decode, double TraceStep::*of,
                     const std::vector<TraceStep>& measured,
                     const std::vector<TraceStep>& predicted) {
  MeasuredSeries series{name, unit, {}, {}};
  const auto fill = [&](const std::vector<TraceStep>& steps, std::vector<TimedValue>& points) {
    for (const TraceStep& step : steps) {
      if (step.decode == decode) points.push_back({step.start_s, step.*of});
    }
  };
  fill(measured, series.measured);
  fill(predicted, series.predicted);
  return series;
}

void compare_trace(const std::vector<TraceStep>& trace, const StepLog& log, Deployment& deployment,
                   Validation& validation) {
  const std::vector<TraceStep> simulated = as_trace(log);
  compare_steps(trace, simulated, deployment, validation);
  ValidationRow whole;
  whole.name = "the whole run";
  const auto [decode, prefill] = count_steps(trace);
  const auto [own_decode, own_prefill] = count_steps(simulated);
  add_total(whole, "decode_steps", static_cast<double>(decode), static_cast<double>(own_decode));
  add_total(whole, "prefill_batches", static_cast<double>(prefill),
            static_cast<double>(own_prefill));
  add_total(whole, "mean_running", mean_running(trace), mean_running(simulated));
  if (!trace.empty())
    add_total(whole, "seconds", trace.back().start_s + trace.back().ms * 1e-3, log.end_s());
  validation.rows.push_back(std::move(whole));
  validation.series = {
      drawn("running requests", "requests", true, &TraceStep::requests, trace, simulated),
      drawn("decode step", "ms", true, &TraceStep::ms, trace, simulated),
      drawn("prefill step", "ms", false, &TraceStep::ms, trace, simulated)};
}

void compare_power(const std::vector<PowerSample>& samples, const StepLog& log,
                   Validation& validation) {
  MeasuredSeries series{"watts, 1 s average", "W", {}, {}};
  double measured = 0;
  double predicted = 0;
  double n = 0;
  for (const PowerSample& sample : samples) {
    const double watts = log.metered(sample.s, kMeterWindow);
    series.measured.push_back({sample.s, sample.watts});
    series.predicted.push_back({sample.s, watts});
    if (sample.s < kMeterWindow) continue;
    ValidationRow row;
    row.line = sample.line;
    row.name = fmt::format("at {:.2f} s", sample.s);
    add_total(row, "gpu_w_meter", sample.watts, watts);
    validation.rows.push_back(std::move(row));
    measured += sample.watts;
    predicted += watts;
    ++n;
  }
  ValidationRow whole;
  whole.name = "the whole log";
  if (n > 0) add_total(whole, "gpu_w_mean", measured / n, predicted / n);
  validation.rows.push_back(std::move(whole));
  validation.series = {std::move(series)};
}

}  // namespace

bool is_time_series(const CsvTable& table) {
  return is_trace(table) || (table.has("t_s") && table.has("power_w"));
}

Validation validate_time_series(const ValidationOptions& options, const CsvTable& table) {
  Validation validation;
  validation.file = options.measured;
  validation.base = options.base;
  const std::vector<PowerSample> samples =
      is_trace(table) ? std::vector<PowerSample>{} : read_power(table);
  const std::vector<TraceStep> trace =
      is_trace(table) ? read_trace(table) : trace_of_power_log(options.measured);
  ScenarioOptions scenario;
  scenario.data_dir = options.data_dir;
  scenario.sets = options.sets;
  const auto sets = run_of(trace, fs::path(options.measured).parent_path(), validation.notes);
  scenario.sets.insert(scenario.sets.end(), sets.begin(), sets.end());
  Deployment deployment(read_scenario(options.base, scenario), options.data_dir);
  validation.profile = deployment.profile().provenance().profile;
  validation.warnings = deployment.warnings();
  const PowerStates power = deployment.costs().power_states();
  StepLog log(power.idle.value, power.host_gap.value);
  RunOptions run_options;
  run_options.observers = {&log};
  run(deployment, run_options);
  if (samples.empty()) {
    compare_trace(trace, log, deployment, validation);
  } else {
    compare_power(samples, log, validation);
  }
  validation.metrics = summarise(validation.rows);
  return validation;
}

}  // namespace plateau
