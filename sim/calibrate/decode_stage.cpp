#include "sim/calibrate/decode_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace plateau {

namespace {

using imports::DecodeSample;

constexpr double kStepNoise = 0.003;  // relative, of a step averaged over a window
constexpr double kMostRunning = 1e5;

// Tokens the batch holds over the window. A log counts pages in use: half a page too many for each
// request.
std::optional<double> context_of(const DecodeSample& sample, int page_tokens) {
  if (!sample.held_tokens || *sample.held_tokens <= 0) return std::nullopt;
  const double held =
      sample.held_before ? 0.5 * (*sample.held_before + *sample.held_tokens) : *sample.held_tokens;
  const double pages = sample.source == imports::StepSource::sglang_decode_line
                           ? 0.5 * (page_tokens - 1) * sample.running_requests
                           : 0;
  return std::max(held - pages, sample.running_requests);
}

StepShape shape_of(const Deployment& deployment, const DecodeSample& sample, double context) {
  StepShape shape =
      deployment.decode_shape(sample.running_requests, context / sample.running_requests);
  if (sample.cuda_graph && *sample.cuda_graph != shape.graph) {
    shape.graph = *sample.cuda_graph;
    if (!shape.graph) shape.decode_padded = sample.running_requests;
  }
  return shape;
}

// Without those of more requests than any engine runs.
std::vector<DecodeSample> plausible(const std::vector<DecodeSample>& samples,
                                    CalibrationResult* result) {
  std::vector<DecodeSample> kept;
  for (const DecodeSample& sample : samples) {
    if (sample.running_requests <= kMostRunning) kept.push_back(sample);
  }
  if (kept.size() < samples.size()) {
    result->notes.push_back(
        fmt::format("{} decode samples of more than {:.0f} running requests "
                    "were left out",
                    samples.size() - kept.size(), kMostRunning));
  }
  return kept;
}

std::vector<DecodeSample> thinned(const std::vector<DecodeSample>& samples,
                                  CalibrationResult* result) {
  if (samples.size() <= kMostDecodeSamples) return samples;
  std::vector<DecodeSample> kept;
  for (std::size_t i = 0; i < kMostDecodeSamples; ++i)
    kept.push_back(samples[i * samples.size() / kMostDecodeSamples]);
  result->notes.push_back(fmt::format("of {} decode samples {}, spread evenly, were fitted",
                                      samples.size(), kept.size()));
  return kept;
}

void note_graphs(const Deployment& deployment, const std::vector<DecodeSample>& samples,
                 CalibrationResult* result) {
  int other = 0;
  const DecodeSample* first = nullptr;
  for (const DecodeSample& sample : samples) {
    const bool graph = deployment.decode_shape(sample.running_requests, 1).graph;
    if (!sample.cuda_graph || *sample.cuda_graph == graph) continue;
    if (other++ == 0) first = &sample;
  }
  if (first == nullptr) return;
  result->contradictions.push_back(fmt::format(
      "{}:{}: the log ran {} running requests {} a CUDA graph, the scenario would {} ({} lines)",
      result->files[static_cast<std::size_t>(first->file)].file, first->line,
      first->running_requests, *first->cuda_graph ? "in" : "without",
      *first->cuda_graph ? "not" : "capture one", other));
}

}  // namespace

bool overlaps(const Deployment& deployment) {
  return deployment.engine().scheduler == "sglang" && deployment.engine().limits.sglang.overlap;
}

Stage decode_stage(const imports::DecodeSamples& samples, Deployment& deployment,
                   CalibrationResult* result) {
  const std::vector<DecodeSample> kept = thinned(plausible(samples.samples, result), result);
  note_graphs(deployment, kept, result);
  const double assumed =
      deployment.workload().mean_input() + 0.5 * deployment.workload().mean_output();
  int without_tokens = 0;
  auto terms = std::make_shared<std::vector<StepTerms>>();
  auto host_included = std::make_shared<std::vector<bool>>();
  Stage stage;
  stage.quantity = "decode_step_ms";
  stage.to_report = 1e3;
  stage.noise = kStepNoise;
  for (const DecodeSample& sample : kept) {
    const auto held = context_of(sample, deployment.engine().limits.page_tokens);
    if (!held) ++without_tokens;
    const double context = held.value_or(assumed * sample.running_requests);
    terms->push_back(terms_of(deployment, shape_of(deployment, sample, context)));
    host_included->push_back(sample.host_included);
    stage.samples.push_back({sample.file, sample.line, sample.running_requests,
                             context / sample.running_requests, sample.step_s});
  }
  if (without_tokens > 0) {
    result->notes.push_back(fmt::format(
        "{} decode samples do not tell the tokens held: the scenario's mean of {:.0f} a request is "
        "assumed",
        without_tokens, assumed));
  }
  const bool overlap = overlaps(deployment);
  const StepLaw law(deployment.profile().launch(), overlap);
  stage.predict = [terms, host_included, law](std::size_t i, const CorrectionValues& values) {
    return (*host_included)[i] ? law.period_seconds((*terms)[i], values)
                               : law.gpu_seconds((*terms)[i], values);
  };
  stage.unknowns = {Correction::kernel_time, Correction::attention_time};
  if (deployment.scenario().parallel.tp > 1) stage.unknowns.push_back(Correction::collective_time);
  stage.unknowns.push_back(Correction::launch_time);
  if (!overlap) {
    stage.unknowns.push_back(Correction::host_step);
    stage.unknowns.push_back(Correction::host_request);
  }
  return stage;
}

}  // namespace plateau
