#include "sim/validate/measured_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "models/memory.h"
#include "sim/deployment/run.h"
#include "sim/scenario/measured.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/read_scenario.h"
#include "sim/validate/deployment_cache.h"

namespace plateau {

namespace {

namespace fs = std::filesystem;

std::optional<double> positive(double value) {
  return value > 0 ? std::optional<double>(value) : std::nullopt;
}

std::optional<double> positive(std::int64_t value) { return positive(static_cast<double>(value)); }

std::optional<double> latency_of(const Report& r, const std::string& metric) {
  const std::size_t split = metric.find('_');
  const std::string what = metric.substr(0, split);
  const Spread& spread = what == "ttft"   ? r.latency_ms.ttft
                         : what == "tpot" ? r.latency_ms.tpot
                         : what == "itl"  ? r.latency_ms.itl
                                          : r.latency_ms.e2e;
  const std::string at = metric.substr(split + 1);
  return at == "mean"  ? spread.mean
         : at == "p50" ? spread.p50
         : at == "p90" ? spread.p90
                       : spread.p99;
}

using RunFigure = std::function<std::optional<double>(const Report&)>;

const std::map<std::string, RunFigure>& run_figures() {
  static const std::map<std::string, RunFigure> kFigures = {
      {"output_tok_per_s", [](const Report& r) { return positive(r.throughput.output_tok_per_s); }},
      {"total_tok_per_s", [](const Report& r) { return positive(r.throughput.total_tok_per_s); }},
      {"requests_per_s", [](const Report& r) { return positive(r.throughput.requests_per_s); }},
      {"seconds", [](const Report& r) { return positive(r.throughput.seconds); }},
      {"gpu_w_mean", [](const Report& r) { return positive(r.power.gpu_w_mean); }},
      {"utilization_pct", [](const Report& r) { return positive(r.power.utilization_pct); }},
      {"j_per_output_token",
       [](const Report& r) {
         const auto& joules = r.energy.j_per_output_token;
         return joules ? positive(*joules / r.subject.gpus) : std::nullopt;
       }},
      {"mean_running", [](const Report& r) { return positive(r.running.mean); }},
      {"peak_running", [](const Report& r) { return positive(r.running.peak); }},
      {"first_wave", [](const Report& r) { return positive(r.running.first_wave); }},
      {"mean_queue", [](const Report& r) { return positive(r.queue.mean); }},
      {"decode_steps", [](const Report& r) { return positive(r.step.decode_count); }},
      {"prefill_batches", [](const Report& r) { return positive(r.step.prefill_count); }},
      {"decode_step_ms_p50", [](const Report& r) { return r.step.decode_ms.p50; }}};
  return kFigures;
}

MetricPair pair_of(double measured, double value, double low, double high) {
  MetricPair pair{measured, value, std::nullopt, std::nullopt};
  if (low < high) {
    pair.low = low;
    pair.high = high;
  }
  return pair;
}

void predict_pool(const MeasuredPoint& point, const KvPool& pool, ValidationRow& row) {
  for (const MeasuredFigure& figure : point.figures) {
    std::optional<double> predicted;
    if (figure.metric == "kv_capacity_tokens" && pool.derived_tokens)
      predicted = static_cast<double>(*pool.derived_tokens);
    if (figure.metric == "kv_bytes_per_token") predicted = static_cast<double>(pool.cell_bytes);
    if (figure.metric == "kv_pool_gib") predicted = positive(pool.allocated_gib);
    if (figure.metric == "weights_gib") predicted = positive(pool.weights_gib);
    if (predicted) row.metrics[figure.metric] = {figure.value, *predicted, {}, {}};
  }
}

void predict_run(const MeasuredPoint& point, const Report& report, ValidationRow& row) {
  for (const MeasuredFigure& figure : point.figures) {
    const auto known = run_figures().find(figure.metric);
    const bool latency = known == run_figures().end();
    if (row.metrics.count(figure.metric) > 0 || figure.metric.rfind("kv_", 0) == 0 ||
        figure.metric == "weights_gib")
      continue;
    const auto predicted = latency ? latency_of(report, figure.metric) : known->second(report);
    if (!predicted) continue;
    MetricPair& pair = row.metrics[figure.metric];
    pair = {figure.value, *predicted, {}, {}};
    const std::optional<Interval> band =
        figure.metric == "output_tok_per_s" ? report.interval.output_tok_per_s
        : figure.metric == "gpu_w_mean"     ? report.interval.gpu_w_mean
                                            : std::nullopt;
    if (band) pair = pair_of(figure.value, *predicted, band->low, band->high);
  }
}

Estimate kernel_time(Deployment& deployment, const MeasuredPoint& point, const StepShape& shape) {
  std::vector<std::string> names;
  for (const OpLine& line : deployment.price(shape)) {
    const std::string name = line.call.label;
    if (name == point.kernel) return line.each.seconds;
    if (!name.empty()) names.push_back(name);
  }
  const std::string near = closest(point.kernel, names);
  throw InputError(
      Problem{point.place.file, point.place.line, 0, "measured.kernel",
              "`" + point.kernel + "` is no operation of this step",
              near.empty() ? "`plateau step` lists them" : "did you mean `" + near + "`?"});
}

void predict_step(const MeasuredPoint& point, Deployment& deployment, ValidationRow& row) {
  const double batch = *point.batch;
  const StepShape shape = deployment.decode_shape(batch, point.ctx_tokens);
  const StepCost step = deployment.cost(shape);
  const ExpertLoadSummary experts =
      deployment.routing().summary(batch, deployment.scenario().parallel.ep);
  for (const MeasuredFigure& figure : point.figures) {
    MetricPair& pair = row.metrics[figure.metric];
    const double watts = step.joules / step.seconds;
    if (figure.metric == "step_ms") {
      pair = pair_of(figure.value, step.seconds * 1e3, step.low_seconds * 1e3,
                     step.high_seconds * 1e3);
    } else if (figure.metric == "output_tok_per_s") {
      pair = pair_of(figure.value, batch / step.seconds, batch / step.high_seconds,
                     batch / step.low_seconds);
    } else if (figure.metric == "gpu_w_mean") {
      pair = pair_of(figure.value, watts, step.low_joules / step.seconds,
                     step.high_joules / step.seconds);
    } else if (figure.metric == "j_per_output_token") {
      pair = {figure.value, step.joules / batch, {}, {}};
    } else if (figure.metric == "kernel_us") {
      const Estimate time = kernel_time(deployment, point, shape);
      pair = pair_of(figure.value, time.value * 1e6, time.low * 1e6, time.high * 1e6);
    } else if (figure.metric == "experts_active") {
      pair = {figure.value, experts.active_mean, {}, {}};
    } else {
      pair = {figure.value, experts.max_over_mean, {}, {}};
    }
  }
}

std::string text_of(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::scalar) return node.text;
  if (node.kind == ConfigNode::Kind::null) return "~";
  std::string text;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    text += i > 0 ? ", " : "";
    if (i < node.keys.size()) text += node.keys[i] + ": ";
    text += text_of(node.children[i]);
  }
  return node.kind == ConfigNode::Kind::list ? "[" + text + "]" : "{" + text + "}";
}

// "concurrency 3072", "batch 64, ctx 1024"; empty: the scenario as it stands.
void describe(const MeasuredPoint& point, ValidationRow& row) {
  const auto add = [&row](const std::string& key, const std::string& value) {
    row.inputs[key] = value;
    const std::size_t dot = key.rfind('.');
    row.name += (row.name.empty() ? "" : ", ") +
                (dot == std::string::npos ? key : key.substr(dot + 1)) + " " + value;
  };
  for (std::size_t i = 0; i < point.set.keys.size(); ++i)
    add(point.set.keys[i], text_of(point.set.children[i]));
  if (!point.batch) return;
  add("batch", fmt::format("{}", *point.batch));
  add("ctx_tokens", fmt::format("{}", point.ctx_tokens));
  if (!point.kernel.empty()) add("kernel", point.kernel);
}

Assignment assignment_of(const std::string& key, const ConfigNode& value) {
  Assignment assignment;
  for (std::size_t start = 0;;) {
    const std::size_t dot = key.find('.', start);
    assignment.key.push_back(key.substr(start, dot - start));
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  assignment.value = value;
  return assignment;
}

class BlockValidation {
 public:
  explicit BlockValidation(const MeasuredBlockOptions& options)
      : options_(options), cache_(options.data_dir) {}

  void add_file(const std::string& path, bool block_required) try {
    ConfigNode root = read_with_bases(path);
    const ConfigNode* block = root.find("measured");
    if (!block_required && (block == nullptr || block->kind == ConfigNode::Kind::null)) return;
    apply_assignments(options_.sets, &root);
    const MeasuredRun measured = measured_of(root, path);
    validation_.files.push_back(path);
    for (const MeasuredPoint& point : measured.points) add_point(path, root, measured, point);
  } catch (const InputError& error) {
    problems_.insert(problems_.end(), error.problems().begin(), error.problems().end());
  }

  Validation finish() {
    if (!problems_.empty()) throw InputError(problems_);
    validation_.metrics = summarise(validation_.rows);
    gather_warnings();
    return std::move(validation_);
  }

 private:
  // Each once, in the order of the rows that have it.
  void gather_warnings() {
    std::vector<std::string>& all = validation_.warnings;
    for (const ValidationRow& row : validation_.rows) {
      for (const std::string& warning : row.warnings) {
        if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
      }
    }
  }

  void add_point(const std::string& path, ConfigNode root, const MeasuredRun& measured,
                 const MeasuredPoint& point) {
    for (std::size_t i = 0; i < point.set.keys.size(); ++i)
      apply_assignment(assignment_of(point.set.keys[i], point.set.children[i]), &root);
    ScenarioOptions scenario_options;
    scenario_options.data_dir = options_.data_dir;
    scenario_options.pool_only = measured.pool_only();
    const Scenario scenario = scenario_from(std::move(root), path, scenario_options);
    ValidationRow row;
    row.file = path;
    row.line = point.place.line;
    row.source = measured.source;
    row.note = measured.note;
    describe(point, row);
    try {
      predict(scenario, scenario_options.pool_only, point, row);
    } catch (const InputError& error) {
      throw located(error, scenario);
    }
    validation_.rows.push_back(std::move(row));
  }

  void predict(const Scenario& scenario, bool pool_only, const MeasuredPoint& point,
               ValidationRow& row) {
    if (pool_only) {
      DeviceSpec paper;
      paper.name = scenario.hardware.device;
      if (scenario.calibration.profile.empty())
        return predict_pool(point, kv_pool_of(scenario, paper), row);
      const Profile& profile = *cache_.profile(scenario);
      const Scenario told = with_profile_memory(scenario, profile);
      return predict_pool(point, kv_pool_of(told, profile.device()), row);
    }
    Deployment deployment = cache_.deploy(scenario);
    row.warnings = deployment.warnings();
    row.profile = deployment.profile().provenance().profile;
    if (point.batch) {
      predict_step(point, deployment, row);
      return;
    }
    predict_pool(point, deployment.engine().pool, row);
    if (row.metrics.size() < point.figures.size()) predict_run(point, run(deployment), row);
  }

  const MeasuredBlockOptions& options_;
  DeploymentCache cache_;
  Validation validation_;
  std::vector<Problem> problems_;
};

bool is_yaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

}  // namespace

bool is_scenario_path(const std::string& path) {
  std::error_code error;
  return is_yaml(path) || fs::is_directory(path, error);
}

Validation validate_scenarios(const MeasuredBlockOptions& options) {
  BlockValidation validation(options);
  for (const std::string& path : options.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      validation.add_file(path, true);
      continue;
    }
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (is_yaml(entry.path())) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) validation.add_file(file, false);
  }
  Validation result = validation.finish();
  if (result.files.empty()) {
    throw InputError(Problem{options.paths.front(), 0, 0, "measured",
                             "no scenario here says what it measured",
                             "give one `measured: {source: ..., output_tok_per_s: 2095}`"});
  }
  return result;
}

}  // namespace plateau
