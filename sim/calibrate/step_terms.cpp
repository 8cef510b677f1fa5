#include "sim/calibrate/step_terms.h"

#include <algorithm>

namespace plateau {

StepTerms terms_of(Deployment& deployment, const StepShape& shape) {
  StepTerms terms;
  for (const OpLine& line : deployment.price(shape)) {
    const double seconds = line.each.seconds.value * line.call.count;
    (is_collective(line.call.op)   ? terms.collectives_s
     : reads_context(line.call.op) ? terms.attention_s
                                   : terms.kernels_s) += seconds;
    terms.calls += line.call.count;
    terms.launches += line.call.count * line.call.kernels;
  }
  terms.layers = deployment.scenario().model.layers;
  terms.graph = shape.graph;
  terms.prefill = shape.prefill_tokens > 0;
  terms.requests = shape.decode_sequences + shape.prefill_sequences;
  const double full = deployment.cost_if(shape, deployment.expert_load(shape.tokens())).seconds;
  terms.clock = deployment.cost(shape).seconds / full;
  return terms;
}

CorrectionValues base_values(const Profile& base) {
  CorrectionValues values;
  values.values.fill(1);
  values[Correction::host_step] = base.launch().host_step.value;
  values[Correction::host_request] = base.launch().host_request.value;
  values[Correction::power_idle] = base.power_states().idle.value;
  values[Correction::power_wait] = base.power_states().wait.value;
  const auto memory = base.unexplained_memory();
  values[Correction::unexplained_memory] = memory ? memory->value : 0;
  return values;
}

double StepLaw::gpu_seconds(const StepTerms& terms, const CorrectionValues& values) const {
  const double ops =
      values[Correction::kernel_time] *
          (terms.kernels_s + values[Correction::attention_time] * terms.attention_s) +
      values[Correction::collective_time] * terms.collectives_s;
  // The launch law is linear in its constants: the CPU's side of an eager step is late by less when
  // the operations are longer, so they are scaled instead.
  const double launch = values[Correction::launch_time];
  const double gaps =
      launch > 0 ? launch * launch_time(launch_, terms.graph,
                                        Estimate::within(ops / launch, 0, Source::measured),
                                        terms.calls, terms.launches, terms.layers)
                                .value
                 : 0;
  const double prefill = terms.prefill ? values[Correction::prefill_time] : 1;
  return terms.clock * prefill * (ops + gaps);
}

double StepLaw::period_seconds(const StepTerms& terms, const CorrectionValues& values) const {
  const double gpu = gpu_seconds(terms, values);
  const double slow = terms.requests >= launch_.host_slow_from
                          ? launch_.host_slow.value * launch_.host_slow_share
                          : 0;
  const double host =
      values[Correction::host_step] + values[Correction::host_request] * terms.requests + slow;
  return overlap_ ? std::max(gpu, host) : gpu + host;
}

}  // namespace plateau
