#include "sim/scenario/measured.h"

#include <algorithm>

#include "sim/scenario/read_scenario.h"

namespace plateau {

namespace {

using Kind = MeasuredKind;

constexpr double kLargest = 1e15;
constexpr double kLargestMs = 1e12;

std::vector<MeasuredMetric> all_metrics() {
  std::vector<MeasuredMetric> metrics = {{"output_tok_per_s", Kind::both, false, kLargest},
                                         {"total_tok_per_s", Kind::run, false, kLargest},
                                         {"requests_per_s", Kind::run, false, kLargest},
                                         {"seconds", Kind::run, false, kLargest},
                                         {"gpu_w_mean", Kind::both, false, 100'000},
                                         {"utilization_pct", Kind::run, false, 100},
                                         {"j_per_output_token", Kind::both, false, kLargest},
                                         {"mean_running", Kind::run, false, kLargest},
                                         {"peak_running", Kind::run, false, kLargest},
                                         {"first_wave", Kind::run, false, kLargest},
                                         {"mean_queue", Kind::run, false, kLargest},
                                         {"decode_steps", Kind::run, false, kLargest},
                                         {"prefill_batches", Kind::run, false, kLargest},
                                         {"decode_step_ms_p50", Kind::run, false, kLargestMs},
                                         {"step_ms", Kind::step, false, kLargestMs},
                                         {"kernel_us", Kind::step, false, kLargestMs},
                                         {"experts_active", Kind::step, false, 1'000'000},
                                         {"expert_max_over_mean", Kind::step, false, 1'000'000},
                                         {"kv_capacity_tokens", Kind::pool, false, kLargest},
                                         {"kv_bytes_per_token", Kind::pool, false, kLargest},
                                         {"kv_pool_gib", Kind::pool, false, 1'000'000},
                                         {"weights_gib", Kind::pool, false, 1'000'000}};
  for (const char* latency : {"ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99", "tpot_mean",
                              "tpot_p50", "tpot_p90", "tpot_p99", "itl_mean", "itl_p50", "itl_p90",
                              "itl_p99", "e2e_mean", "e2e_p50", "e2e_p90", "e2e_p99"}) {
    metrics.push_back({latency, Kind::run, true, kLargestMs});
  }
  return metrics;
}

std::string plain(double value) {
  return value < 1e6 ? std::to_string(static_cast<int>(value)) : "every one that was measured yet";
}

std::optional<double> read_figure(ConfigReader* point, const MeasuredMetric& metric) {
  std::optional<double> value;
  if (metric.latency) {
    value = point->quantity(metric.name, Dimension::time, any_value<double>());
    if (value) *value *= 1e3;
  } else {
    value = point->optional<double>(metric.name);
  }
  if (!value) return std::nullopt;
  if (*value <= 0) {
    point->complain(metric.name, "is impossible: it must be above 0",
                    "leave a figure out when it was not measured");
  } else if (*value > metric.largest) {
    point->complain(metric.name, "is impossible: it is above " + plain(metric.largest));
  } else {
    return value;
  }
  return std::nullopt;
}

// A figure of a run beside a batch, or of a step without one.
void check_kind(ConfigReader* point, const MeasuredMetric& metric, const MeasuredPoint& read) {
  if (metric.kind == Kind::step && !read.batch) {
    point->complain(metric.name, "is a figure of one decode step, and there is no batch",
                    "give batch (and ctx_tokens) beside it");
  }
  if (read.batch && (metric.kind == Kind::run || metric.kind == Kind::pool)) {
    point->complain(metric.name, "is no figure of one decode step",
                    "give it in a point without batch");
  }
}

void check_step(ConfigReader* point, const MeasuredPoint& read) {
  const bool kernel_time = point->has("kernel_us");
  if (kernel_time != point->has("kernel")) {
    point->complain(kernel_time ? "kernel_us" : "kernel", "kernel and kernel_us belong together",
                    "name the operation as `plateau step` does: kernel: moe_experts");
  }
  if (!read.batch) {
    for (const char* key : {"ctx_tokens", "kernel"}) {
      if (point->has(key)) point->complain(key, "is of a decode step, and there is no batch");
    }
    return;
  }
  for (const char* metric : {"step_ms", "output_tok_per_s", "gpu_w_mean", "j_per_output_token"}) {
    if (point->has(metric) && !point->has("ctx_tokens")) {
      point->complain(metric, "needs the context that each request holds", "give ctx_tokens");
    }
  }
}

MeasuredPoint read_point(ConfigReader* point) {
  MeasuredPoint read;
  read.batch = point->optional<double>("batch", {1, 1e9});
  read.ctx_tokens = point->optional<double>("ctx_tokens", {1, 1e9}).value_or(1);
  read.kernel = point->optional<std::string>("kernel").value_or("");
  for (const MeasuredMetric& metric : measured_metrics()) {
    const auto value = read_figure(point, metric);
    if (!point->has(metric.name)) continue;
    check_kind(point, metric, read);
    if (value) read.figures.push_back({metric.name, *value});
    const ConfigNode* node = point->raw(metric.name);
    if (read.place.line == 0) read.place = {node->file, node->line, node->column};
  }
  check_step(point, read);
  return read;
}

bool may_be_set(const std::string& key, const std::vector<std::string>& keys) {
  const std::string section = key.substr(0, key.find('.'));
  return section != "measured" && section != "base" &&
         std::find(keys.begin(), keys.end(), key) != keys.end();
}

void read_set(ConfigReader* point, MeasuredPoint* read) {
  const ConfigNode* set = point->raw("set");
  if (set == nullptr) return;
  if (set->kind != ConfigNode::Kind::map) {
    point->complain("set", "is not a map of keys", "write set: {workload.concurrency: 3072}");
    return;
  }
  static const std::vector<std::string> kKeys = scenario_keys();
  for (std::size_t i = 0; i < set->keys.size(); ++i) {
    if (may_be_set(set->keys[i], kKeys)) continue;
    std::string near = closest(set->keys[i], kKeys);
    for (const std::string& key : kKeys) {  // `concurrency` for `workload.concurrency`
      if (key.size() > set->keys[i].size() &&
          key.compare(key.size() - set->keys[i].size() - 1, std::string::npos,
                      "." + set->keys[i]) == 0)
        near = key;
    }
    Problem problem =
        set->children[i].problem(point->path_of("set") + "." + set->keys[i],
                                 "`" + set->keys[i] + "` is no key that a point may set",
                                 near.empty() ? "keys are written with their section, such as "
                                                "workload.concurrency"
                                              : "did you mean `" + near + "`?");
    problem.line = set->children[i].key_line;
    problem.column = set->children[i].key_column;
    point->add(std::move(problem));
  }
  read->set = *set;
}

}  // namespace

const std::vector<MeasuredMetric>& measured_metrics() {
  static const std::vector<MeasuredMetric> kMetrics = all_metrics();
  return kMetrics;
}

bool MeasuredRun::pool_only() const {
  for (const MeasuredPoint& point : points) {
    for (const MeasuredFigure& figure : point.figures) {
      for (const MeasuredMetric& metric : measured_metrics()) {
        if (figure.metric == metric.name && metric.kind != Kind::pool) return false;
      }
    }
  }
  return !points.empty();
}

MeasuredRun read_measured(ConfigReader measured) {
  MeasuredRun run;
  run.source = measured.optional<std::string>("source").value_or("");
  run.date = measured.optional<std::string>("date").value_or("");
  run.note = measured.optional<std::string>("note").value_or("");
  MeasuredPoint whole = read_point(&measured);
  std::vector<ConfigReader> points = measured.sections("points");
  if (!whole.figures.empty()) run.points.push_back(std::move(whole));
  for (ConfigReader& point : points) {
    MeasuredPoint read = read_point(&point);
    read_set(&point, &read);
    if (read.figures.empty()) point.complain("", "names no figure that was measured");
    run.points.push_back(std::move(read));
  }
  if (!run.points.empty() && run.source.empty())
    measured.complain("source", "is missing", "say who measured it and where it stands");
  return run;
}

MeasuredRun measured_of(const ConfigNode& root, const std::string& file) {
  const ConfigNode* node = root.find("measured");
  if (node == nullptr || node->kind == ConfigNode::Kind::null) {
    throw InputError(Problem{file, 0, 0, "measured", "there is nothing to compare with",
                             "give `measured: {source: ..., output_tok_per_s: 2095}`"});
  }
  ConfigNode only;
  only.kind = ConfigNode::Kind::map;
  only.file = file;
  only.keys = {"measured"};
  only.children = {*node};
  ConfigReader reader(std::move(only));
  ConfigReader block = reader.section("measured");
  MeasuredRun run = read_measured(block);
  const bool empty = run.points.empty() && reader.problem_count() == 0;
  if (empty) block.complain("", "names no figure that was measured");
  reader.finish();
  return run;
}

}  // namespace plateau
