#include "sim/deployment/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/memory.h"
#include "sim/engine/simulation.h"
#include "sim/report/report_builder.h"

namespace plateau {

namespace {

Subject subject_of(const Deployment& deployment) {
  const Scenario& scenario = deployment.scenario();
  Subject subject;
  subject.file = scenario.file;
  subject.question = scenario.question;
  subject.model = scenario.model.name;
  subject.device = deployment.profile().device().name;
  subject.gpus = scenario.hardware.count;
  subject.engine = deployment.engine().scheduler +
                   (scenario.engine.version.empty() ? "" : " " + scenario.engine.version) +
                   fmt::format(", tp {}", scenario.parallel.tp);
  if (scenario.parallel.replicas > 1) {
    subject.engine += fmt::format(
        ", {} replicas, {}", scenario.parallel.replicas,
        scenario.balancer == BalancerLaw::round_robin ? "round robin" : "least loaded first");
  }
  subject.load = deployment.workload().load_text();
  subject.workload = deployment.workload().text();
  return subject;
}

// How many requests of `tokens` each the pool holds to their end (full residency).
std::int64_t wall_of(const EngineLimits& limits, std::int64_t tokens) {
  const std::int64_t pages = (tokens + limits.page_tokens - 1) / limits.page_tokens;
  return limits.pool_tokens / limits.page_tokens / std::max<std::int64_t>(1, pages);
}

void tell_unexplained(const Deployment& deployment, KvReport* kv) {
  const KvPool& pool = deployment.engine().pool;
  if (pool.told_unexplained_gib <= 0) return;
  kv->told_unexplained_bytes = pool.told_unexplained_gib * kGiB;
  const bool given = deployment.scenario().engine.unexplained_gib.has_value();
  kv->told_unexplained_source = given ? "given" : "calibrated";
  const auto found = deployment.profile().unexplained_memory();
  if (given || !found || !pool.derived_tokens) return;
  kv->told_unexplained_range = Interval{found->low, found->high};
  const auto tokens = [&](double bytes) {
    return static_cast<double>(*pool.derived_tokens) +
           (found->value - bytes) / static_cast<double>(pool.cell_bytes);
  };
  kv->derived_tokens_range = Interval{tokens(found->high), tokens(found->low)};
}

KvReport kv_of(const Deployment& deployment) {
  const ResolvedEngine& engine = deployment.engine();
  KvReport kv;
  kv.capacity_tokens = engine.pool.tokens;
  kv.bytes_per_token_per_gpu = static_cast<double>(engine.pool.cell_bytes);
  kv.page_tokens = engine.limits.page_tokens;
  kv.source = engine.kv_source;
  if (const auto longest = deployment.workload().longest())
    kv.wall_requests = wall_of(engine.limits, *longest);
  kv.derived_tokens = engine.pool.derived_tokens;
  kv.derived_tokens_spec_weights = engine.derived_tokens_spec_weights;
  if (engine.pool.unexplained_gib) kv.unexplained_bytes = *engine.pool.unexplained_gib * kGiB;
  tell_unexplained(deployment, &kv);
  return kv;
}

ProvenanceReport provenance_of(const Deployment& deployment) {
  const Provenance& profile = deployment.profile().provenance();
  ProvenanceReport report;
  report.profile = profile.profile;
  report.profile_source = profile.source;
  report.licence = profile.licence;
  report.date = profile.date;
  report.engine = profile.engine;
  report.driver = profile.driver;
  report.tables = profile.tables;
  report.seed = deployment.scenario().seed;
  report.version = PLATEAU_VERSION;
  return report;
}

// Pure decode at batches up to what this load can reach, each request in the middle of its life.
std::vector<CurvePoint> decode_curve(Deployment& deployment) {
  const Workload& workload = deployment.workload();
  const EngineLimits& limits = deployment.engine().limits;
  const auto typical =
      static_cast<std::int64_t>(std::ceil(workload.mean_input() + workload.mean_output()));
  const std::int64_t wall = wall_of(limits, workload.longest().value_or(typical));
  std::int64_t reach = std::min(limits.max_running, std::max<std::int64_t>(1, wall));
  const int replicas = deployment.scenario().parallel.replicas;
  reach = std::min(reach, workload.open_loop()
                              ? workload.requests()
                              : std::int64_t{(workload.clients() + replicas - 1) / replicas});
  const double context = workload.mean_input() + 0.5 * workload.mean_output();
  const auto largest = static_cast<double>(reach);
  constexpr int kPoints = 16;
  std::vector<CurvePoint> curve;
  for (int i = 0; i <= kPoints; ++i) {
    const double batch = std::round(std::pow(largest, static_cast<double>(i) / kPoints));
    if (!curve.empty() && batch <= curve.back().running) continue;
    const StepCost& step = deployment.cost(deployment.decode_shape(batch, context));
    curve.push_back({batch, batch / step.seconds});
  }
  return curve;
}

ExpertsReport experts_of(Deployment& deployment, double tokens) {
  const ExpertLoadSummary summary =
      deployment.routing().summary(tokens, deployment.scenario().parallel.ep);
  ExpertsReport report;
  report.tokens_per_expert_mean = summary.tokens_per_expert_mean;
  report.p50 = summary.tokens_per_expert_p50;
  report.p99 = summary.tokens_per_expert_p99;
  ExpertLoad load;
  load.active_experts = summary.active_mean;
  report.active_mean =
      what_if_load(deployment.scenario().hypothetical, load, deployment.scenario().model.experts,
                   deployment.scenario().model.top_k)
          .active_experts;
  report.max_over_mean = summary.max_over_mean;
  report.rank_max_over_mean = summary.rank_max_over_mean;
  report.experts = deployment.scenario().model.experts;
  report.law = summary.method;
  return report;
}

ReportContext context_of(Deployment& deployment, const RunOptions& options) {
  const Scenario& scenario = deployment.scenario();
  const EngineLimits& limits = deployment.engine().limits;
  ReportContext context;
  context.subject = subject_of(deployment);
  context.power = deployment.profile().power_states();
  context.device = deployment.profile().device();
  context.power_cap_w = scenario.hardware.power_limit_w;
  context.host_source = deployment.profile().launch().host_step.source;
  context.clients = deployment.workload().clients();
  context.replicas = scenario.parallel.replicas;
  context.max_running_requests = limits.max_running;
  context.prefill_token_budget =
      limits.chunk_tokens > 0 ? limits.chunk_tokens : limits.sglang.max_prefill_tokens;
  context.largest_captured_batch = limits.capture_sizes.empty() ? 0 : limits.capture_sizes.back();
  context.weights_bytes = std::max(deployment.engine().pool.weights_gib * kGiB,
                                   weight_bytes(scenario.model, scenario.parallel).total());
  context.kv = kv_of(deployment);
  context.decode_curve = decode_curve(deployment);
  context.provenance = provenance_of(deployment);
  context.warnings = deployment.warnings();
  context.limits = scenario.latency_limits;
  context.prices = scenario.prices;
  context.series_points = options.series_points;
  if (scenario.model.moe_layers() > 0) {
    context.experts = [&deployment](double tokens) { return experts_of(deployment, tokens); };
  }
  context.price = [&deployment](const StepShape& shape) { return deployment.price(shape); };
  return context;
}

HostLaw host_law(const LaunchLaw& launch) {
  HostLaw host;
  host.step_seconds = launch.host_step.value;
  host.request_seconds = launch.host_request.value;
  host.slow_seconds = launch.host_slow.value * launch.host_slow_share;
  host.slow_from = launch.host_slow_from;
  return host;
}

StepReport step_report(Deployment& deployment, const StepShape& shape) {
  StepReport report;
  report.subject = subject_of(deployment);
  report.shape = shape;
  report.lines = deployment.price(shape);
  report.cost = deployment.cost(shape);
  report.provenance = provenance_of(deployment);
  report.warnings = deployment.warnings();
  return report;
}

}  // namespace

Report run(Deployment& deployment, const RunOptions& options) {
  check_weights(deployment.scenario(), deployment.profile().device());
  const ReportContext context = context_of(deployment, options);
  ReportBuilder builder(context);
  std::vector<std::unique_ptr<Scheduler>> owned;
  std::vector<Scheduler*> replicas;
  for (int i = 0; i < deployment.scenario().parallel.replicas; ++i) {
    owned.push_back(make_scheduler(deployment.engine().scheduler, deployment.engine().limits));
    replicas.push_back(owned.back().get());
  }
  const auto client = deployment.workload().client();
  std::vector<Observer*> observers = {&builder};
  observers.insert(observers.end(), options.observers.begin(), options.observers.end());
  Simulation simulation(replicas, deployment.scenario().balancer, *client, deployment,
                        host_law(deployment.costs().launch()), observers);
  simulation.run();
  return builder.finish();
}

StepReport decode_step(Deployment& deployment, int batch, int context) {
  return step_report(deployment, deployment.decode_shape(batch, context));
}

StepReport prefill_step(Deployment& deployment, int sequences, int tokens) {
  StepShape shape;
  shape.prefill_sequences = sequences;
  shape.prefill_tokens = static_cast<double>(sequences) * tokens;
  shape.prefill_context_tokens = shape.prefill_tokens;
  shape.prefill_attended = sequences * (0.5 * tokens * (tokens + 1.0));
  return step_report(deployment, shape);
}

}  // namespace plateau
