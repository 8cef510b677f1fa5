#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/explain/explain.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json optional(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json run_json(const RunSummary& run) {
  return {{"file", run.file},
          {"load", run.load},
          {"sets", run.sets},
          {"output_tok_per_s", run.tok_per_s},
          {"tpot_ms", optional(run.tpot_ms)},
          {"gpu_w_mean", run.gpu_w},
          {"decode_step_ms", run.decode_step_seconds() * 1e3},
          {"running", run.running}};
}

Json cause_json(const CauseShare& cause) {
  return {{"cause", cause.cause},
          {"output_tok_per_s", cause.output_tok_per_s},
          {"tpot_ms", optional(cause.tpot_ms)},
          {"gpu_w_mean", cause.gpu_w_mean},
          {"what", cause.what},
          {"unit", cause.unit},
          {"a", optional(cause.a)},
          {"b", optional(cause.b)}};
}

std::optional<double> difference(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional<double>(*b - *a) : std::nullopt;
}

}  // namespace

std::string explain_json(const Explanation& explanation) {
  const RunSummary& a = explanation.a;
  const RunSummary& b = explanation.b;
  Json json = Json::object();
  json["schema"] = "plateau-explain/1";
  json["a"] = run_json(a);
  json["b"] = run_json(b);
  json["change"] = {{"output_tok_per_s", b.tok_per_s - a.tok_per_s},
                    {"tpot_ms", optional(difference(a.tpot_ms, b.tpot_ms))},
                    {"gpu_w_mean", b.gpu_w - a.gpu_w}};
  Json causes = Json::array();
  for (const CauseShare& cause : explanation.causes) causes.push_back(cause_json(cause));
  json["causes"] = causes;
  json["method"] =
      "logarithmic-mean (LMDI) weights on seconds per output token = decode step / (running * "
      "tail) + prompt tokens * seconds per prompt token + idle; causes sum to the change and "
      "change "
      "their sign with the order of A and B";
  json["warnings"] = explanation.warnings;
  return json.dump(kIndent) + "\n";
}

}  // namespace plateau
