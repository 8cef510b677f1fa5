#include "sim/validate/validation.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>

#include "calibration/csv.h"
#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"
#include "sim/validate/deployment_cache.h"
#include "sim/validate/measured_file.h"

namespace plateau {

namespace {

struct MetricColumn {
  const char* column;
  const char* metric;
  double to_metric;  // cell x this = metric's unit
  std::function<std::optional<double>(const Report&)> of;
};

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
      {"mean_running", "mean_running", 1, [](const Report& r) { return positive(r.running.mean); }},
      {"peak_running", "peak_running", 1,
       [](const Report& r) { return positive(static_cast<double>(r.running.peak)); }},
      {"decode_steps", "decode_steps", 1,
       [](const Report& r) { return positive(static_cast<double>(r.step.decode_count)); }},
      {"prefill_batches", "prefill_batches", 1,
       [](const Report& r) { return positive(static_cast<double>(r.step.prefill_count)); }},
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

void predict_step(MeasuredFile& file, std::size_t row, Deployment& deployment,
                  ValidationRow& result) {
  const double batch = file.number("batch", row, false).value_or(1);
  const double context = file.number("ctx_tokens", row, false).value_or(1);
  const StepShape shape = deployment.decode_shape(batch, context);
  const StepCost& step = deployment.cost(shape);
  if (file.has("step_ms", row)) {
    MetricPair& pair = result.metrics["step_ms"];
    pair = {file.number("step_ms", row, false).value_or(1), step.seconds * 1e3,
            step.low_seconds * 1e3, step.high_seconds * 1e3};
  }
  if (file.has("power_w", row)) {
    MetricPair& pair = result.metrics["gpu_w_mean"];
    pair = {file.number("power_w", row, false).value_or(1), step.joules / step.seconds,
            step.low_joules / step.seconds, step.high_joules / step.seconds};
  }
}

void predict_run(MeasuredFile& file, std::size_t row, Deployment& deployment,
                 ValidationRow& result) {
  const Report report = run(deployment);
  for (const MetricColumn& metric : run_metrics()) {
    if (!file.has(metric.column, row)) continue;
    const auto measured = file.number(metric.column, row, false);
    const auto predicted = metric.of(report);
    if (!measured || !predicted) continue;
    result.metrics[metric.metric] = {*measured * metric.to_metric, *predicted, std::nullopt,
                                     std::nullopt};
  }
  const auto interval = [&](const char* metric, const std::optional<Interval>& band) {
    const auto found = result.metrics.find(metric);
    if (found == result.metrics.end() || !band) return;
    found->second.low = band->low;
    found->second.high = band->high;
  };
  interval("output_tok_per_s", report.interval.output_tok_per_s);
  interval("gpu_w_mean", report.interval.gpu_w_mean);
}

}  // namespace

Validation validate(const ValidationOptions& options) {
  std::vector<std::string> metric_columns = {"step_ms"};
  for (const MetricColumn& metric : run_metrics()) metric_columns.emplace_back(metric.column);
  MeasuredFile file(options.measured, metric_columns);
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
      Deployment deployment = cache.deploy(read_scenario(options.base, scenario_options));
      validation.profile = deployment.profile().provenance().profile;
      result.warnings = deployment.warnings();
      file.steps() ? predict_step(file, row, deployment, result)
                   : predict_run(file, row, deployment, result);
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
