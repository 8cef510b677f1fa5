#include "models/step_cost.h"

namespace plateau {

namespace {

struct Launch {
  Estimate seconds;     // beyond the operations themselves
  double resident = 0;  // of it, time with a kernel resident
};

Launch graph_launch(const LaunchLaw& law, double calls, double layers) {
  const Estimate gaps = law.graph_gap * calls + law.graph_layer * layers;
  return {gaps + law.graph_step, gaps.value};
}

double over(double a, double b) { return b > 0 ? a / b : 1; }

double positive(double value) { return std::max(0.0, value); }

// The longer of what the GPU needs and what the CPU needs to launch it; the band is evaluated bound
// by bound.
Launch eager_launch(const LaunchLaw& law, const Estimate& ops, double calls, double kernels,
                    double layers) {
  const Estimate gpu = law.eager_gap * calls + law.eager_layer * layers;
  const Estimate host =
      law.eager_kernel_launch * kernels + law.eager_layer_host * layers + law.eager_step;
  Launch launch;
  launch.seconds.value = std::max(gpu.value, positive(host.value - ops.value));
  launch.seconds.low = std::max(gpu.low, positive(host.low - ops.low));
  launch.seconds.high = std::max(gpu.high, positive(host.high - ops.high));
  launch.seconds.source = host.value > ops.value + gpu.value ? host.source : gpu.source;
  return launch;
}

Launch launch_of(const LaunchLaw& law, bool graph, const Estimate& ops, double calls,
                 double kernels, double layers) {
  return graph ? graph_launch(law, calls, layers) : eager_launch(law, ops, calls, kernels, layers);
}

}  // namespace

Estimate launch_time(const LaunchLaw& law, bool graph, const Estimate& ops, double calls,
                     double kernels, double layers) {
  return launch_of(law, graph, ops, calls, kernels, layers).seconds;
}

StepCost scaled(const StepCost& step, double factor) {
  if (factor == 1) return step;
  StepCost result = step;
  for (PartCost& part : result.parts) {
    part.seconds *= factor;
    part.joules *= factor;
  }
  for (double& seconds : result.clock_seconds) seconds *= factor;
  for (double& seconds : result.source_seconds) seconds *= factor;
  for (double* value : {&result.seconds, &result.joules, &result.busy_seconds, &result.low_seconds,
                        &result.high_seconds, &result.low_joules, &result.high_joules}) {
    *value *= factor;
  }
  return result;
}

StepCost with_watts(const StepCost& step, const Estimate& watts) {
  if (step.seconds <= 0 || step.joules <= 0) return step;
  StepCost result = step;
  result.joules = watts.value * step.seconds;
  result.low_joules = watts.low * step.seconds;
  result.high_joules = watts.high * step.seconds;
  for (PartCost& part : result.parts) part.joules *= result.joules / step.joules;
  return result;
}

StepCost step_cost(const std::vector<OpCall>& ops, const KernelCosts& costs, bool graph, int layers,
                   std::vector<OpLine>* lines) {
  StepCost step;
  Estimate sum{0, 0, 0, Source::measured};
  double calls = 0;
  double kernels = 0;
  for (const OpCall& call : ops) {
    const OpCost each = costs.cost(call);
    const double seconds = each.seconds.value * call.count;
    sum = sum + each.seconds * call.count;
    step[call.part].seconds += seconds;
    step[call.part].joules += seconds * each.watts.value;
    step.low_joules += seconds * each.watts.low;
    step.high_joules += seconds * each.watts.high;
    step.source_seconds[static_cast<std::size_t>(each.seconds.source)] += seconds;
    step.clock_seconds[static_cast<std::size_t>(call.part)] +=
        seconds * clock_share(costs.clock(), call, each.seconds.value,
                              costs.device().peak_flops(call.weights));
    calls += call.count;
    kernels += call.count * call.kernels;
    if (lines != nullptr) lines->push_back({call, each});
  }
  const Launch launch = launch_of(costs.launch(), graph, sum, calls, kernels, layers);
  step[Part::launch].seconds = launch.seconds.value;
  const Estimate& gap_watts = costs.power_states().host_gap;
  step[Part::launch].joules = launch.seconds.value * gap_watts.value;
  // A longer launch makes a cooler step.
  const double whole = sum.value + launch.seconds.value;
  step.low_joules = (step.low_joules + launch.seconds.high * gap_watts.low) *
                    over(whole, sum.value + launch.seconds.high);
  step.high_joules = (step.high_joules + launch.seconds.low * gap_watts.high) *
                     over(whole, sum.value + launch.seconds.low);
  step.source_seconds[static_cast<std::size_t>(launch.seconds.source)] += launch.seconds.value;
  step.busy_seconds = sum.value + launch.resident;
  step.low_seconds = sum.low + launch.seconds.low;
  step.high_seconds = sum.high + launch.seconds.high;
  for (const PartCost& part : step.parts) {
    step.seconds += part.seconds;
    step.joules += part.joules;
  }
  return step;
}

}  // namespace plateau
