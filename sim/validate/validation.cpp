#include "sim/validate/validation.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>

#include "calibration/csv.h"
#include "sim/deployment/run.h"
#include "sim/interval/interval.h"
#include "sim/interval/noisy_costs.h"
#include "sim/scenario/read_scenario.h"
#include "sim/validate/deployment_cache.h"
#include "sim/validate/measured_file.h"
#include "sim/validate/time_series.h"

namespace plateau {

namespace {

struct MetricColumn {
  const char* column;
  const char* metric;
  double to_metric;  // cell x this = metric's unit
  std::function<std::optional<double>(const Report&)> of;
  bool spread = true;  // false: a count that repetitions do not change
};

constexpr int kRepetitions = 40;
constexpr int kStepRepetitions =
    100;  // of the tables alone: a step is a mean over many layers' experts

std::optional<double> positive(double value) {
  return value > 0 ? std::optional<double>(value) : std::nullopt;
}

const std::vector<MetricColumn>& run_metrics() {
  static const std::vector<MetricColumn> kMetrics = {
      {"output_tok_s", "output_tok_per_s", 1,
       [](const Report& r) { return positive(r.throughput.output_tok_per_s); }},
      {"total_tok_s", "total_tok_per_s", 1,
       [](const Report& r) { return positive(r.throughput.total_tok_per_s); }},
      {"seconds", "seconds", 1, [](const Report& r) { return positive(r.throughput.seconds); }},
      {"power_w", "gpu_w_mean", 1, [](const Report& r) { return positive(r.power.gpu_w_mean); }},
      {"j_per_output_tok", "j_per_output_token", 1,
       [](const Report& r) -> std::optional<double> {
         if (!r.energy.j_per_output_token) return std::nullopt;
         return *r.energy.j_per_output_token / r.subject.gpus;  // the measured figure is one GPU's
       }},
      {"mean_running", "mean_running", 1, [](const Report& r) { return positive(r.running.mean); },
       false},
      {"peak_running", "peak_running", 1,
       [](const Report& r) { return positive(static_cast<double>(r.running.peak)); }, false},
      {"decode_steps", "decode_steps", 1,
       [](const Report& r) { return positive(static_cast<double>(r.step.decode_count)); }, false},
      {"prefill_batches", "prefill_batches", 1,
       [](const Report& r) { return positive(static_cast<double>(r.step.prefill_count)); }, false},
      {"prefill_s", "prefill_s", 1,
       [](const Report& r) { return positive(r.step.prefill_time_share * r.throughput.seconds); }},
      {"decode_s", "decode_s", 1,
       [](const Report& r) { return positive(r.step.decode_time_share * r.throughput.seconds); }},
      {"decode_step_ms_p50", "decode_step_ms_p50", 1,
       [](const Report& r) { return r.step.decode_ms.p50; }},
      {"ttft_p50_s", "ttft_p50", 1e3, [](const Report& r) { return r.latency_ms.ttft.p50; }},
      {"ttft_p99_s", "ttft_p99", 1e3, [](const Report& r) { return r.latency_ms.ttft.p99; }},
      {"e2e_p50_s", "e2e_p50", 1e3, [](const Report& r) { return r.latency_ms.e2e.p50; }},
      {"tpot_mean_s", "tpot_mean", 1e3, [](const Report& r) { return r.latency_ms.tpot.mean; }}};
  return kMetrics;
}

// p5 and p95 of a metric over repetitions.
void set_interval(MetricPair& pair, std::vector<double> sample) {
  const std::optional<Interval> band = interval_of(std::move(sample));
  if (!band) return;
  pair.low = band->low;
  pair.high = band->high;
}

void predict_step(MeasuredFile& file, std::size_t row, const Scenario& scenario,
                  const std::shared_ptr<const Profile>& profile, Deployment& deployment,
                  ValidationRow& result) {
  const double batch = file.number("batch", row, false).value_or(1);
  const double context = file.number("ctx_tokens", row, false).value_or(1);
  const StepCost step = deployment.cost(deployment.decode_shape(batch, context));
  std::vector<double> ms;
  std::vector<double> watts;
  const auto routing = std::make_shared<ExpertRouting>(deployment.routing());
  for (int r = 1; r <= kStepRepetitions; ++r) {
    Deployment other(
        scenario,
        std::make_shared<NoisyCosts>(profile, scenario.seed, static_cast<std::uint32_t>(r)),
        routing);
    const StepCost& repeated = other.cost(other.decode_shape(batch, context));
    ms.push_back(repeated.seconds * 1e3);
    watts.push_back(repeated.joules / repeated.seconds);
  }
  if (file.has("step_ms", row)) {
    MetricPair& pair = result.metrics["step_ms"];
    pair = {file.number("step_ms", row, false).value_or(1), step.seconds * 1e3, {}, {}};
    set_interval(pair, std::move(ms));
  }
  // Of a step that waits for a late rank, the board that waits.
  const char* power = file.has("power_w", row) ? "power_w" : "power_w_waiting";
  if (file.has(power, row)) {
    MetricPair& pair = result.metrics["gpu_w_mean"];
    pair = {file.number(power, row, false).value_or(1), step.joules / step.seconds, {}, {}};
    set_interval(pair, std::move(watts));
  }
  if (file.has("util_pct_waiting", row)) {
    result.metrics["utilization_pct"] = {file.number("util_pct_waiting", row, false).value_or(1),
                                         100 * step.busy_seconds / step.seconds,
                                         {},
                                         {}};
  }
}

void predict_run(MeasuredFile& file, std::size_t row, const Scenario& scenario,
                 const std::shared_ptr<const Profile>& profile, Deployment& deployment,
                 ValidationRow& result) {
  const Report report = run(deployment);
  const std::vector<Report> repeated = repeat_runs(scenario, profile, kRepetitions);
  for (const MetricColumn& metric : run_metrics()) {
    if (!file.has(metric.column, row)) continue;
    const auto measured = file.number(metric.column, row, false);
    const auto predicted = metric.of(report);
    if (!measured || !predicted) continue;
    MetricPair& pair = result.metrics[metric.metric];
    pair = {*measured * metric.to_metric, *predicted, std::nullopt, std::nullopt};
    std::vector<double> sample;
    for (const Report& other : repeated) {
      if (const auto value = metric.of(other)) sample.push_back(*value);
    }
    if (metric.spread) set_interval(pair, std::move(sample));
  }
}

}  // namespace

std::vector<std::string> measured_columns() {
  std::vector<std::string> columns = {"step_ms", "power_w_waiting", "util_pct_waiting"};
  for (const MetricColumn& metric : run_metrics()) columns.emplace_back(metric.column);
  return columns;
}

Validation validate(const ValidationOptions& options) {
  const CsvTable table = CsvTable::read(options.measured);
  if (is_time_series(table)) return validate_time_series(options, table);
  MeasuredFile file(options.measured, measured_columns());
  std::vector<std::vector<std::string>> sets;
  for (std::size_t row = 0; row < file.table().rows(); ++row) sets.push_back(file.sets(row));
  file.finish();
  Validation validation;
  validation.file = options.measured;
  validation.base = options.base;
  DeploymentCache cache(options.data_dir);
  for (std::size_t row = 0; row < file.table().rows(); ++row) {
    ScenarioOptions scenario_options;
    scenario_options.data_dir = options.data_dir;
    scenario_options.sets = options.sets;
    scenario_options.sets.insert(scenario_options.sets.end(), sets[row].begin(), sets[row].end());
    ValidationRow result;
    result.line = file.table().line(row);
    result.name = file.name(row);
    for (const std::string& column : file.input_columns(row)) {
      result.inputs[column] = file.text(column.c_str(), row);
    }
    try {
      const Scenario scenario = read_scenario(options.base, scenario_options);
      const std::shared_ptr<const Profile> profile = cache.profile(scenario);
      Deployment deployment(scenario, profile, make_routing(scenario));
      validation.profile = deployment.profile().provenance().profile;
      result.warnings = deployment.warnings();
      file.steps() ? predict_step(file, row, scenario, profile, deployment, result)
                   : predict_run(file, row, scenario, profile, deployment, result);
    } catch (const InputError& error) {
      for (Problem problem : error.problems()) {
        file.complain(file.table().problem(row, 0, to_string(problem), ""));
      }
    }
    validation.rows.push_back(std::move(result));
  }
  file.finish();
  validation.metrics = summarise(validation.rows);
  return validation;
}

std::map<std::string, MetricSummary> summarise(const std::vector<ValidationRow>& rows) {
  std::map<std::string, MetricSummary> summaries;
  std::map<std::string, std::pair<int, int>> covered;  // inside, with an interval
  for (const ValidationRow& row : rows) {
    for (const auto& [metric, pair] : row.metrics) {
      MetricSummary& summary = summaries[metric];
      const double error = 100 * pair.error();
      ++summary.n;
      summary.mape_pct += std::fabs(error);
      summary.bias_pct += error;
      if (std::fabs(error) >= summary.worst_pct) {
        summary.worst_pct = std::fabs(error);
        summary.worst_line = row.line;
        summary.worst_file = row.file;
      }
      if (!pair.inside()) continue;
      auto& [inside, with] = covered[metric];
      ++with;
      if (*pair.inside()) ++inside;
    }
  }
  for (auto& [metric, summary] : summaries) {
    summary.mape_pct /= summary.n;
    summary.bias_pct /= summary.n;
    const auto found = covered.find(metric);
    if (found != covered.end())
      summary.coverage_pct = 100.0 * found->second.first / found->second.second;
  }
  return summaries;
}

std::vector<std::string> missed_bars(const Validation& validation,
                                     const std::vector<std::string>& bars) {
  std::vector<std::string> missed;
  for (const std::string& bar : bars) {
    const std::size_t equals = bar.find('=');
    const std::string metric = bar.substr(0, equals);
    const auto percent =
        equals == std::string::npos ? std::nullopt : parse_number(bar.substr(equals + 1));
    const auto found = validation.metrics.find(metric);
    if (!percent || found == validation.metrics.end()) {
      std::vector<std::string> names;
      for (const auto& [name, summary] : validation.metrics) names.push_back(name);
      const std::string near = closest(metric, names);
      throw InputError(Problem{"", 0, 0, "--bars",
                               "'" + bar + "' is no bar on a metric of this file",
                               near.empty() ? "write metric=percent" : "write " + near + "=3"});
    }
    if (found->second.mape_pct > *percent) {
      missed.push_back(fmt::format("{}: MAPE {:.2f} % is above the bar of {} %", metric,
                                   found->second.mape_pct, *percent));
    }
  }
  return missed;
}

}  // namespace plateau
