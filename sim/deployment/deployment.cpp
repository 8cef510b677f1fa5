#include "sim/deployment/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/routing_counts.h"
#include "models/cuda_graphs.h"

namespace plateau {

namespace {

RoutingLaw::Kind kind_of(RoutingConfig::Law law) {
  switch (law) {
    case RoutingConfig::Law::uniform:
      return RoutingLaw::Kind::uniform;
    case RoutingConfig::Law::two_level_lognormal:
      return RoutingLaw::Kind::two_level_lognormal;
    case RoutingConfig::Law::zipf:
      return RoutingLaw::Kind::zipf;
    case RoutingConfig::Law::zipf_gumbel:
      return RoutingLaw::Kind::zipf_gumbel;
    case RoutingConfig::Law::power_law:
      return RoutingLaw::Kind::power_law;
    case RoutingConfig::Law::replay:
      return RoutingLaw::Kind::replay;
  }
  return RoutingLaw::Kind::uniform;
}

Workload load_workload(const Scenario& scenario, const ResolvedEngine& engine) {
  const auto scheduler = make_scheduler(engine.scheduler, engine.limits);
  return Workload(scenario, [&scheduler](std::int64_t input, std::int64_t output) {
    return scheduler->fits_alone(input, output);
  });
}

}  // namespace

ProfileOptions profile_options(const Scenario& scenario, const std::string& data_dir) {
  ProfileOptions options;
  options.data_dir = data_dir;
  options.name = scenario.calibration.profile;
  options.interconnect = scenario.hardware.interconnect;
  options.ranks = scenario.parallel.tp;
  options.board = scenario.calibration.board;
  options.attention = scenario.calibration.attention;
  options.power = scenario.calibration.power;
  return options;
}

std::shared_ptr<const Profile> load_profile_of(const Scenario& scenario,
                                               const std::string& data_dir) {
  std::shared_ptr<const Profile> profile = load_profile(profile_options(scenario, data_dir));
  const std::string& device = profile->device().name;
  if (is_profile_path(scenario.calibration.profile) && device != scenario.hardware.device) {
    throw InputError(Problem{scenario.file, 0, 0, "calibration.profile",
                             "is of " + device + ", not of " + scenario.hardware.device,
                             "name a profile of this device"});
  }
  return profile;
}

ExpertRouting make_routing(const Scenario& scenario) {
  const RoutingConfig& config = scenario.routing;
  RoutingLaw law;
  law.kind = kind_of(config.law);
  law.alpha = config.alpha;
  law.sigma_group = config.sigma_group;
  law.sigma_expert = config.sigma_expert;
  law.groups = config.groups;
  if (law.kind == RoutingLaw::Kind::replay)
    law.counts = read_routing_counts(config.counts, config.trace).counts;
  const RoutingSize size{scenario.model.experts, scenario.model.top_k, scenario.model.moe_layers()};
  const auto problems = problems_of(law, size.experts, size.top_k);
  if (!problems.empty() && size.layers > 0) {
    throw InputError(Problem{scenario.file, 0, 0, "routing", problems.front(), ""});
  }
  return ExpertRouting(law, size, scenario.seed, config.sample_layers, config.exact);
}

Scenario with_profile_memory(Scenario scenario, const Profile& profile) {
  const auto bytes = profile.unexplained_memory();
  if (bytes && !scenario.engine.unexplained_gib)
    scenario.engine.unexplained_gib = bytes->value / kGiB;
  return scenario;
}

Deployment::Deployment(const Scenario& scenario, const std::string& data_dir)
    : Deployment(scenario, load_profile_of(scenario, data_dir), make_routing(scenario)) {}

Deployment::Deployment(const Scenario& scenario, std::shared_ptr<const Profile> profile,
                       const ExpertRouting& routing)
    : Deployment(scenario, std::move(profile), std::make_shared<ExpertRouting>(routing)) {}

Deployment::Deployment(const Scenario& scenario, std::shared_ptr<const Profile> profile,
                       std::shared_ptr<ExpertRouting> routing)
    : scenario_(scenario),
      profile_(std::move(profile)),
      costs_(scenario_.hypothetical, *profile_),
      routing_(std::move(routing)),
      engine_(resolve_engine(with_profile_memory(scenario_, *profile_), profile_->device())),
      workload_(load_workload(scenario_, engine_)),
      placement_{scenario_.parallel, engine_.kv_dtype, engine_.vocab_parallel},
      power_limit_w_(scenario_.hardware.power_limit_w.value_or(profile_->device().power_limit_w)) {
  warnings_ = scenario_.warnings;
  warnings_.insert(warnings_.end(), engine_.warnings.begin(), engine_.warnings.end());
  warnings_.insert(warnings_.end(), workload_.warnings().begin(), workload_.warnings().end());
  warnings_.insert(warnings_.end(), profile_->warnings().begin(), profile_->warnings().end());
  check_clock();
  if (!scenario_.calibration.power_runs.empty())
    power_curve_ = read_power_curve(scenario_.calibration.power_runs);
  // Prices one small step: what the profile cannot price is the user's to know before anything
  // runs.
  try {
    price(decode_shape(1, 1));
  } catch (const std::invalid_argument& error) {
    throw InputError(
        Problem{scenario_.file, 0, 0, "calibration.profile", error.what(),
                "choose a profile that measured this model's operations (plateau list profiles)"});
  }
}

void Deployment::check_clock() {
  const ClockLaw& clock = profile_->clock();
  const bool asked = scenario_.hardware.power_limit_w || scenario_.hardware.sm_clock_mhz;
  if (!asked) return;
  if (!clock.known()) {
    throw InputError(Problem{scenario_.file, 0, 0, "hardware.power_limit",
                             "profile " + profile_->provenance().profile + " has no clock law",
                             "add a clock block to its meta.yaml"});
  }
  if (scenario_.hardware.sm_clock_mhz && (*scenario_.hardware.sm_clock_mhz < clock.min_mhz ||
                                          *scenario_.hardware.sm_clock_mhz > clock.max_mhz)) {
    throw InputError(
        Problem{scenario_.file, 0, 0, "hardware.sm_clock",
                fmt::format("{} MHz is outside this board's {} to {} MHz",
                            *scenario_.hardware.sm_clock_mhz, clock.min_mhz, clock.max_mhz),
                ""});
  }
}

StepShape Deployment::decode_shape(double batch, double context) const {
  StepShape shape;
  shape.decode_sequences = batch;
  shape.decode_context_tokens = batch * context;
  const auto padded =
      CudaGraphs(engine_.limits.capture_sizes).padded_batch(static_cast<int>(std::ceil(batch)));
  shape.decode_padded = padded.value_or(static_cast<int>(batch));
  shape.graph = padded.has_value();
  return shape;
}

std::vector<OpLine> Deployment::price(const StepShape& shape) {
  std::vector<OpLine> lines;
  step_cost(step_ops(scenario_.model, placement_, shape, expert_load(shape.tokens())), costs_,
            shape.graph, scenario_.model.layers, &lines);
  for (OpLine& line : lines) line.each.seconds = line.each.seconds * prefill_time(shape);
  return lines;
}

StepCost Deployment::cost_if(const StepShape& shape, const ExpertLoad& load) const {
  return scaled(step_cost(step_ops(scenario_.model, placement_, shape, load), costs_, shape.graph,
                          scenario_.model.layers),
                prefill_time(shape));
}

double Deployment::prefill_time(const StepShape& shape) const {
  return shape.prefill_tokens > 0 ? costs_.prefill_time() : 1;
}

ExpertLoad Deployment::expert_load(double tokens) {
  return what_if_load(scenario_.hypothetical, routing_->load(tokens), scenario_.model.experts,
                      scenario_.model.top_k);
}

// The others spin in the step's first collective until the late rank arrives.
void Deployment::wait_for_late_rank() {
  const double delay = scenario_.rank_delay_s;
  const Estimate& wait = profile_->power_states().wait;
  cost_[Part::all_reduce].seconds += delay;
  cost_[Part::all_reduce].joules += delay * wait.value;
  cost_.seconds += delay;
  cost_.joules += delay * wait.value;
  cost_.busy_seconds += delay;
  cost_.low_seconds += delay;
  cost_.high_seconds += delay;
  cost_.low_joules += delay * wait.low;
  cost_.high_joules += delay * wait.high;
  cost_.source_seconds[static_cast<std::size_t>(Source::assumed)] += delay;
}

const StepCost& Deployment::cost(const StepShape& shape) {
  cost_ = cost_if(shape, expert_load(shape.tokens()));
  if (power_curve_ && shape.decode_sequences > 0)
    cost_ = with_watts(cost_, power_curve_->watts(shape.decode_sequences));
  keep_limit();
  if (scenario_.rank_delay_s > 0) wait_for_late_rank();
  return cost_;
}

void Deployment::keep_limit() {
  const ClockLaw& clock = profile_->clock();
  if (!clock.known()) return;
  const double chosen = scenario_.hardware.sm_clock_mhz.value_or(clock.max_mhz);
  const StepCost full = cost_;
  cost_ = at_clock(full, clock, chosen);
  if (cost_.joules > power_limit_w_ * cost_.seconds) {
    cost_ = at_clock(full, clock, std::min(chosen, clock_under_limit(full, clock, power_limit_w_)));
  }
}

}  // namespace plateau
