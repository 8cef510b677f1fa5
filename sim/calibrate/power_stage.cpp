#include "sim/calibrate/power_stage.h"

#include <memory>

#include "calibration/corrected_profile.h"
#include "sim/calibrate/decode_stage.h"

namespace plateau {

namespace {

constexpr double kPowerNoise = 0.01;  // relative: NVML over some seconds (docs/models.md)

// A step under corrected times: what runs how long at which base watts, and the gaps.
struct PowerTerms {
  std::vector<std::pair<double, double>> operations;  // s, W
  double gap_s = 0;                                   // launch and host
};

PowerTerms terms_of_power(Deployment& deployment, const join::Window& window,
                          const CorrectionValues& times, const StepLaw& law) {
  const double context = window.held_tokens > 0 ? window.held_tokens / window.running_requests
                                                : deployment.workload().mean_input() +
                                                      0.5 * deployment.workload().mean_output();
  const StepShape shape = deployment.decode_shape(window.running_requests, context);
  PowerTerms terms;
  double busy = 0;
  for (const OpLine& line : deployment.price(shape)) {
    const double factor =
        is_collective(line.call.op)
            ? times[Correction::collective_time]
            : times[Correction::kernel_time] *
                  (reads_context(line.call.op) ? times[Correction::attention_time] : 1);
    const double seconds = line.each.seconds.value * line.call.count * factor;
    terms.operations.emplace_back(seconds, line.each.watts.value);
    busy += seconds;
  }
  terms.gap_s = std::max(0.0, law.period_seconds(terms_of(deployment, shape), times) - busy);
  return terms;
}

}  // namespace

Stage power_stage(const std::vector<join::PowerWindow>& windows, Deployment& deployment,
                  const CorrectionValues& times) {
  const StepLaw law(deployment.profile().launch(), overlaps(deployment));
  auto terms = std::make_shared<std::vector<PowerTerms>>();
  Stage stage;
  stage.quantity = "gpu_w";
  stage.noise = kPowerNoise;
  stage.unknowns = {Correction::power_gain, Correction::power_wait};
  for (const join::PowerWindow& power : windows) {
    const join::Window& window = power.window;
    terms->push_back(terms_of_power(deployment, window, times, law));
    stage.samples.push_back({window.file, window.last_line, window.running_requests,
                             window.held_tokens / window.running_requests, power.watts});
  }
  const PowerStates states = deployment.profile().power_states();
  stage.predict = [terms, states](std::size_t i, const CorrectionValues& values) {
    const double floor = values[Correction::power_wait];
    const PowerTerms& step = (*terms)[i];
    double joules = step.gap_s * states.host_gap.value * floor / states.wait.value;
    double seconds = step.gap_s;
    for (const auto& [time, watts] : step.operations) {
      joules +=
          time * corrected_watts(watts, states.wait.value, floor, values[Correction::power_gain]);
      seconds += time;
    }
    return joules / seconds;
  };
  return stage;
}

Stage idle_stage(const std::vector<join::PowerWindow>& windows) {
  Stage stage;
  stage.quantity = "idle_w";
  stage.noise = kPowerNoise;
  stage.unknowns = {Correction::power_idle};
  for (const join::PowerWindow& power : windows) {
    stage.samples.push_back({power.window.file, power.window.first_line, 0, 0, power.watts});
  }
  stage.predict = [](std::size_t, const CorrectionValues& values) {
    return values[Correction::power_idle];
  };
  return stage;
}

}  // namespace plateau
