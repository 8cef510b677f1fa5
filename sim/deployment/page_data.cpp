#include "sim/deployment/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace plateau {

namespace {

constexpr int kPoints = 32;               // batches of a curve, evenly spaced in its logarithm
constexpr std::int64_t kLargest = 16384;  // batch

bool same_law(const RoutingConfig& a, const RoutingConfig& b) {
  return a.law == b.law && a.alpha == b.alpha && a.sigma_group == b.sigma_group &&
         a.sigma_expert == b.sigma_expert && a.groups == b.groups;
}

std::string law_text(const RoutingConfig& routing) {
  switch (routing.law) {
    case RoutingConfig::Law::uniform:
      return "uniform";
    case RoutingConfig::Law::two_level_lognormal:
      return fmt::format("log-normal, sigma {:g} between groups, {:g} within", routing.sigma_group,
                         routing.sigma_expert);
    case RoutingConfig::Law::zipf:
      return fmt::format("Zipf, alpha {:g}", routing.alpha);
    case RoutingConfig::Law::zipf_gumbel:
      return fmt::format("Zipf with Gumbel top-k, alpha {:g}", routing.alpha);
    case RoutingConfig::Law::power_law:
      return fmt::format("power law, alpha {:g}", routing.alpha);
    case RoutingConfig::Law::replay:
      return "replay of recorded counts";
  }
  return "";
}

struct NamedRouting {
  std::string name;
  RoutingConfig routing;
};

// From even to strongly skewed. The middle one is what DeepSeek-V3/R1 recordings show
// (models/routing_law.h), with its groups where the experts divide by them.
std::vector<NamedRouting> taught_laws(const Scenario& scenario) {
  RoutingConfig even;
  even.sample_layers = scenario.routing.sample_layers;
  RoutingConfig mild = even;
  mild.law = RoutingConfig::Law::two_level_lognormal;
  mild.sigma_expert = 0.50;
  RoutingConfig recorded = mild;
  recorded.sigma_group = 0.55;
  recorded.groups = 8;
  RoutingConfig strong = even;
  strong.law = RoutingConfig::Law::zipf;
  strong.alpha = 1;
  std::vector<NamedRouting> laws = {{"even", even}, {"mild skew", mild}};
  if (scenario.model.experts % recorded.groups == 0) laws.push_back({"as recorded", recorded});
  laws.push_back({"strong skew", strong});
  return laws;
}

// Also both sides of the largest captured graph, where a step's time jumps.
std::vector<double> batches_up_to(std::int64_t largest, const std::vector<int>& capture_sizes) {
  std::vector<double> batches;
  for (int i = 0; i <= kPoints; ++i) {
    batches.push_back(
        std::round(std::pow(static_cast<double>(largest), static_cast<double>(i) / kPoints)));
  }
  if (!capture_sizes.empty() && capture_sizes.back() < largest) {
    batches.push_back(capture_sizes.back());
    batches.push_back(capture_sizes.back() + 1);
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

double beyond_tables(const StepCost& cost) {
  double seconds = 0;
  for (const Source source : {Source::extrapolated, Source::roofline, Source::assumed})
    seconds += cost.source_seconds[static_cast<std::size_t>(source)];
  return cost.seconds > 0 ? seconds / cost.seconds : 0;
}

BatchPoint point_of(Deployment& deployment, double batch, double context) {
  const StepShape shape = deployment.decode_shape(batch, context);
  const StepCost& cost = deployment.cost(shape);
  BatchPoint point;
  point.running = batch;
  point.seconds = cost.seconds;
  point.joules = cost.joules;
  for (std::size_t part = 0; part < kParts; ++part) {
    point.part_seconds[part] = cost.parts[part].seconds;
    point.part_joules[part] = cost.parts[part].joules;
  }
  point.beyond_tables = beyond_tables(cost);
  point.graph = shape.graph;
  if (deployment.scenario().model.moe_layers() == 0) return point;
  const ExpertLoadSummary load = deployment.routing().summary(shape.tokens());
  point.active_experts = load.active_mean;
  point.tokens_per_expert = load.tokens_per_expert_mean;
  point.tokens_per_expert_p99 = load.tokens_per_expert_p99;
  point.max_over_mean = load.max_over_mean;
  return point;
}

RoutedCurve curve_of(Deployment& deployment, const std::string& name, const PageData& data) {
  RoutedCurve curve;
  curve.name = name;
  curve.law = law_text(deployment.scenario().routing);
  for (const double batch : batches_up_to(std::min(data.most_running, kLargest),
                                          deployment.engine().limits.capture_sizes))
    curve.points.push_back(point_of(deployment, batch, data.context_tokens));
  return curve;
}

void add_taught_curves(Deployment& deployment, PageData& data) {
  const Scenario& own = deployment.scenario();
  // Shares the profile, which outlives the copies.
  const std::shared_ptr<const Profile> profile(&deployment.profile(), [](const Profile*) {});
  for (const NamedRouting& law : taught_laws(own)) {
    if (same_law(law.routing, own.routing)) continue;
    Scenario scenario = own;
    scenario.routing = law.routing;
    Deployment taught(scenario, profile, make_routing(scenario));
    data.curves.push_back(curve_of(taught, law.name, data));
  }
}

}  // namespace

PageData page_data(Deployment& deployment, const Report& report,
                   const LatencyHistograms* latencies) {
  const Scenario& scenario = deployment.scenario();
  PageData data;
  data.latencies = latencies;
  data.context_tokens =
      deployment.workload().mean_input() + 0.5 * deployment.workload().mean_output();
  const std::int64_t cap = deployment.engine().limits.max_running;
  // An engine that plans for less than whole lives may have let more run.
  const std::int64_t wall =
      std::max({std::int64_t{1}, report.running.peak, report.kv.wall_requests.value_or(cap)});
  data.most_running = std::min(cap, wall);
  data.most_running_why = wall < cap ? "KV pool" : "running cap";
  data.curves.push_back(curve_of(deployment, "this scenario", data));
  if (scenario.model.moe_layers() == 0) return data;
  data.experts = scenario.model.experts;
  data.top_k = scenario.model.top_k;
  add_taught_curves(deployment, data);
  const auto tokens = std::max<std::int64_t>(1, std::llround(report.running.mean));
  data.heat_tokens = static_cast<double>(tokens);
  data.heat = deployment.routing().draw(tokens, 0);
  return data;
}

}  // namespace plateau
