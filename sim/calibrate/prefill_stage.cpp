#include "sim/calibrate/prefill_stage.h"

#include <memory>

#include "sim/calibrate/decode_stage.h"

namespace plateau {

namespace {

constexpr double kPrefillNoise = 0.01;  // relative: pages, and what overlaps at a batch's ends
constexpr std::size_t kMost = 2000;

// Equal prompts: a log tells a batch's sums only.
StepShape shape_of(const imports::PrefillSample& sample) {
  StepShape shape;
  shape.prefill_sequences = sample.requests;
  shape.prefill_tokens = sample.new_tokens;
  shape.prefill_context_tokens = sample.new_tokens + sample.cached_tokens;
  const double each = sample.new_tokens / sample.requests;
  const double cached = sample.cached_tokens / sample.requests;
  shape.prefill_attended = sample.requests * each * (cached + 0.5 * (each + 1));
  return shape;
}

}  // namespace

Stage prefill_stage(const std::vector<imports::PrefillSample>& samples, Deployment& deployment) {
  auto terms = std::make_shared<std::vector<StepTerms>>();
  auto host_included = std::make_shared<std::vector<bool>>();
  Stage stage;
  stage.quantity = "prefill_ms";
  stage.to_report = 1e3;
  stage.noise = kPrefillNoise;
  stage.unknowns = {Correction::prefill_time};
  const std::size_t count = std::min(samples.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) {
    const imports::PrefillSample& sample = samples[i * samples.size() / count];
    terms->push_back(terms_of(deployment, shape_of(sample)));
    host_included->push_back(sample.host_included);
    stage.samples.push_back({sample.file, sample.line, sample.requests,
                             sample.new_tokens / sample.requests, sample.step_s});
  }
  const StepLaw law(deployment.profile().launch(), overlaps(deployment));
  stage.predict = [terms, host_included, law](std::size_t i, const CorrectionValues& values) {
    return (*host_included)[i] ? law.period_seconds((*terms)[i], values)
                               : law.gpu_seconds((*terms)[i], values);
  };
  return stage;
}

}  // namespace plateau
