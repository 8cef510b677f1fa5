#include "sim/plan/goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "calibration/csv.h"
#include "calibration/units.h"
#include "sim/scenario/overlay.h"
#include "sim/sweep/figures.h"

namespace plateau {

namespace {

constexpr double kGpusPerNode = 8;
constexpr const char* kCost = "cost_per_million_output_tokens";

struct LimitKey {
  std::string key;
  std::string metric;
  std::optional<Dimension> dimension;  // nothing: a bare number
  double scale = 1;                    // base unit -> metric
  bool at_least = false;
};

const std::vector<LimitKey>& limit_keys() {
  static const std::vector<LimitKey> kKeys = [] {
    std::vector<LimitKey> keys;
    for (const std::string what : {"ttft", "tpot", "itl", "e2e"}) {
      keys.push_back({what, what + "_p99_ms", Dimension::time, 1e3, false});
      for (const std::string at : {"_mean", "_p50", "_p90", "_p95", "_p99"})
        keys.push_back({what + at, what + at + "_ms", Dimension::time, 1e3, false});
    }
    keys.push_back({"gpu_power", "gpu_w_mean", Dimension::power, 1, false});
    keys.push_back({"node_power", "host_gpus_w", Dimension::power, 1, false});
    keys.push_back({"rack_power", "node_w", Dimension::power, 1, false});
    keys.push_back({"memory", "gpu_memory_bytes", Dimension::memory, 1, false});
    keys.push_back({"gpus", "gpus", std::nullopt, 1, false});
    keys.push_back({"cost_per_million_tokens", kCost, std::nullopt, 1, false});
    keys.push_back({"j_per_token", "j_per_output_token", std::nullopt, 1, false});
    keys.push_back({"tok_per_s", "output_tok_per_s", std::nullopt, 1, true});
    keys.push_back({"tok_per_s_per_gpu", "output_tok_per_s_per_gpu", std::nullopt, 1, true});
    keys.push_back({"request_rate", "request_rate", std::nullopt, 1, true});
    keys.push_back({"queue_share", "queue_share", std::nullopt, 1, false});
    return keys;
  }();
  return kKeys;
}

struct ObjectiveEntry {
  const char* name;
  const char* metric;
  bool largest;
};
constexpr ObjectiveEntry kObjectives[] = {{"tok_per_s", "output_tok_per_s", true},
                                          {"tok_per_s_per_gpu", "output_tok_per_s_per_gpu", true},
                                          {"tok_per_s_per_w", "output_tok_per_j", true},
                                          {"request_rate", "request_rate", true},
                                          {"gpus", "gpus", false},
                                          {"j_per_token", "j_per_output_token", false},
                                          {"cost_per_million_tokens", kCost, false}};

std::string trimmed(const std::string& text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string::npos) return "";
  return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

[[noreturn]] void fail(const std::string& key, const std::string& message,
                       const std::string& hint = "") {
  throw InputError(Problem{kCommandLine, 0, 0, key, message, hint});
}

const LimitKey& find_key(const std::string& key) {
  std::vector<std::string> names;
  for (const LimitKey& known : limit_keys()) {
    if (known.key == key) return known;
    names.push_back(known.key);
  }
  const std::string near = closest(key, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  fail("limit " + key, "is no limit",
       near.empty() ? "one of: " + all : "did you mean `" + near + "`?");
}

double bound_of(const LimitKey& key, const std::string& text) {
  double value = 0;
  if (key.dimension) {
    const Quantity quantity = parse_quantity(text, *key.dimension);
    if (!quantity.error.empty()) fail("limit " + key.key, quantity.error, quantity.hint);
    value = quantity.value * key.scale;
  } else {
    const auto number = parse_number(text);
    if (!number) fail("limit " + key.key, "`" + text + "` is not a number");
    value = *number;
  }
  if (!(value > 0)) fail("limit " + key.key, "`" + text + "` is not above 0: nothing can keep it");
  return value;
}

PlanLimit make_limit(const std::string& key_text, const std::string& relation,
                     const std::string& value) {
  const LimitKey& key = find_key(key_text);
  if (value.empty()) fail("limit " + key_text, "has no value", "write " + key_text + "<=VALUE");
  PlanLimit limit;
  limit.key = key.key;
  limit.metric = metric_index(key.metric);
  limit.at_least = relation == "=" ? key.at_least : relation == ">=";
  limit.bound = bound_of(key, value);
  limit.text = key.key + (limit.at_least ? " >= " : " <= ") + value;
  return limit;
}

PlanLimit parse_limit(const std::string& text) {
  for (const std::string relation : {"<=", ">=", "="}) {
    const std::size_t at = text.find(relation);
    if (at == std::string::npos) continue;
    return make_limit(trimmed(text.substr(0, at)), relation,
                      trimmed(text.substr(at + relation.size())));
  }
  fail("--limit " + text, "is no limit", "write --limit 'ttft_p99 <= 500 ms'");
}

void read_section(const ConfigNode& section, std::vector<PlanLimit>* limits) {
  if (section.kind == ConfigNode::Kind::null && section.file.empty()) return;
  if (section.kind != ConfigNode::Kind::map || section.keys.empty())
    throw InputError(section.problem("limits", "holds no limit",
                                     "write `ttft_p99: 500 ms` lines, or leave it out"));
  for (std::size_t i = 0; i < section.keys.size(); ++i) {
    const ConfigNode& value = section.children[i];
    try {
      if (value.kind != ConfigNode::Kind::scalar) fail("limit " + section.keys[i], "has no value");
      limits->push_back(make_limit(section.keys[i], "=", value.text));
    } catch (const InputError& error) {
      const Problem& problem = error.problems().front();
      throw InputError(value.problem("limits." + section.keys[i], problem.message, problem.hint));
    }
  }
}

// A floor above a ceiling of the same figure.
void check_contradictions(const std::vector<PlanLimit>& limits) {
  for (const PlanLimit& floor : limits) {
    for (const PlanLimit& ceiling : limits) {
      if (floor.metric != ceiling.metric || !floor.at_least || ceiling.at_least) continue;
      if (floor.bound > ceiling.bound)
        fail("limits", "`" + floor.text + "` contradicts `" + ceiling.text + "`", "change one");
    }
  }
}

}  // namespace

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Figure& figure : figures()) names.emplace_back(figure.name);
    for (const char* own : {"host_gpus_w", "gpu_memory_bytes", "request_rate", "queue_share"})
      names.emplace_back(own);
    for (const std::string what : {"ttft", "tpot", "itl", "e2e"}) {
      names.push_back(what + "_mean_ms");
      names.push_back(what + "_p95_ms");
    }
    return names;
  }();
  return kNames;
}

std::size_t metric_index(const std::string& name) {
  const auto& names = metric_names();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Metrics metrics_of(const Report& report, double memory_bytes_per_gpu, double request_rate) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  Metrics metrics;
  for (const Figure& figure : figures()) metrics.push_back(figure.value(report).value_or(nothing));
  metrics.push_back(report.power.gpu_w_mean * std::min<double>(kGpusPerNode, report.subject.gpus));
  metrics.push_back(memory_bytes_per_gpu);
  metrics.push_back(request_rate);
  metrics.push_back(report.queue.mean / std::max(1.0, report.running.mean));
  const LatencyReport& latency = report.latency_ms;
  for (const Spread* spread : {&latency.ttft, &latency.tpot, &latency.itl, &latency.e2e}) {
    metrics.push_back(spread->mean.value_or(nothing));
    metrics.push_back(spread->p95.value_or(nothing));
  }
  return metrics;
}

double PlanLimit::excess(const Metrics& metrics) const {
  const double value = metrics[metric];
  if (std::isnan(value)) return 0;  // a run of one-token answers has no TPOT to break
  if (at_least) return value > 0 ? bound / value - 1 : std::numeric_limits<double>::infinity();
  return value / bound - 1;
}

double PlanGoal::score(const Metrics& metrics) const {
  const double value = metrics[metric];
  if (std::isnan(value)) return -std::numeric_limits<double>::infinity();
  return largest ? value : -value;
}

double PlanGoal::excess(const Metrics& metrics) const {
  double most = 0;
  for (const PlanLimit& limit : limits) most = std::max(most, limit.excess(metrics));
  return most;
}

PlanGoal read_goal(const GoalRequest& request, const ConfigNode& section, bool open_loop) {
  if (!request.maximise.empty() && !request.minimise.empty())
    fail("--maximise", "and --minimise are two plans", "ask for one");
  const bool smallest = !request.minimise.empty();
  std::string name = smallest ? request.minimise : request.maximise;
  if (name.empty()) name = "tok_per_s";
  PlanGoal goal;
  bool found = false;
  std::string all;
  for (const ObjectiveEntry& entry : kObjectives) {
    if (entry.largest == smallest) continue;
    all += (all.empty() ? "" : ", ") + std::string(entry.name);
    if (name != entry.name) continue;
    goal.objective = name;
    goal.metric = metric_index(entry.metric);
    goal.largest = entry.largest;
    found = true;
  }
  if (!found) {
    fail(smallest ? "--minimise" : "--maximise", "cannot be `" + name + "`", "one of: " + all);
  }
  read_section(section, &goal.limits);
  for (const std::string& text : request.limits) goal.limits.push_back(parse_limit(text));
  check_contradictions(goal.limits);
  const bool asked = std::any_of(goal.limits.begin(), goal.limits.end(),
                                 [](const PlanLimit& l) { return l.key == "queue_share"; });
  if ((open_loop || name == "request_rate") && !asked)
    goal.limits.push_back(make_limit("queue_share", "<=", fmt::format("{}", kSustained)));
  return goal;
}

}  // namespace plateau
