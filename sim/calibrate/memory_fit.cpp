#include "sim/calibrate/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibration/whole.h"
#include "sim/calibrate/start_up.h"
#include "sim/deployment/engine_limits.h"

namespace plateau {

namespace {

constexpr double kDecimal = 0.01;   // GiB, of a printed figure
constexpr double kCellBand = 0.02;  // logged size of the pool against tokens times cell
constexpr double kFar = 3;          // errors

struct Found {
  int file = 0;
  std::int64_t line = 0;
  double gib = 0;
  double error = 0;
};

double square(double x) { return x * x; }

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Sample variance; 0 of one value.
double variance(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values) sum += square(value - mean_of(values));
  return sum / static_cast<double>(values.size() - 1);
}

// Why no log can tell; "": one may.
std::string never(const Deployment& deployment, const CalibrationResult& result) {
  const Scenario& scenario = deployment.scenario();
  for (const UsedFile& file : result.files) {
    if (file.engine == "vllm")
      return "a vLLM log states what is left for the KV cache, so there is no rule to correct";
  }
  if (scenario.engine.kind != EngineConfig::Kind::sglang)
    return "this engine sizes no pool by a rule";
  if (scenario.engine.kv_pool_gib) return "engine.kv_pool_memory replaces the rule";
  if (scenario.model.attention.window_layers > 0)
    return "sliding-window layers hold pools of their own";
  return "";
}

// The rule at a log's own setting, with nothing unexplained and the logged pool.
KvPool pool_at(const StartUp& start, const Deployment& deployment) {
  Scenario scenario = deployment.scenario();
  EngineConfig& engine = scenario.engine;
  engine.free_memory_gib = start.free_gib;
  engine.weights_gib = start.weights_gib;
  engine.unexplained_gib = 0;
  engine.kv_pool_tokens = whole(*start.pool->number);
  if (start.fraction) engine.mem_fraction_static = *start.fraction;
  return kv_pool_of(scenario, deployment.profile().device());
}

Found found_in(const StartUp& start, const KvPool& pool) {
  const double page = static_cast<double>(pool.cell_bytes) * pool.page_tokens / kGiB;
  const double pages = static_cast<double>(pool.tokens) / pool.page_tokens + 0.5;
  const double share = start.after_told ? 1 - pool.fraction : pool.fraction;
  Found found;
  found.file = start.file;
  found.line = start.pool->line;
  found.gib = pool.budget_gib - pages * page;
  found.error = std::sqrt((square(kDecimal) * (1 + square(share)) + square(page)) / 12 +
                          variance(start.after_gib));
  return found;
}

// What one log says; why not, in `why`.
std::optional<Found> found_in(const StartUp& start, const Deployment& deployment,
                              std::string* why) {
  const std::string missing = missing_in(start);
  if (!missing.empty()) {
    *why = "the log does not tell " + missing;
    return std::nullopt;
  }
  const KvPool pool = pool_at(start, deployment);
  if (start.max_total_tokens && pool.tokens + pool.page_tokens > *start.max_total_tokens) {
    *why = "max_total_tokens cut the pool, not memory";
  } else if (start.kv_gib && std::abs(pool.allocated_gib / *start.kv_gib - 1) > kCellBand) {
    *why = fmt::format("the log's pool takes {:.2f} GiB, that many tokens of the scenario {:.2f}",
                       *start.kv_gib, pool.allocated_gib);
  } else {
    const Found found = found_in(start, pool);
    if (found.gib > -kFar * found.error) return found;
    *why = fmt::format("the log's pool is {:.2f} GiB larger than the rule allows", -found.gib);
  }
  return std::nullopt;
}

void tell_difference(const std::vector<Found>& found, CalibrationResult* result) {
  const auto [low, high] = std::minmax_element(
      found.begin(), found.end(), [](const Found& a, const Found& b) { return a.gib < b.gib; });
  if (high->gib - low->gib <= kFar * std::hypot(low->error, high->error)) return;
  const auto place = [&](const Found& one) {
    return fmt::format("{}:{}", result->files[static_cast<std::size_t>(one.file)].file, one.line);
  };
  result->contradictions.push_back(fmt::format(
      "{}: {:.2f} GiB per GPU are unexplained, {:.2f} in {}: one value does not hold for both",
      place(*high), high->gib, low->gib, place(*low)));
}

Parameter parameter_of(const std::vector<Found>& found, double base) {
  std::vector<double> values;
  double errors = 0;
  for (const Found& one : found) {
    values.push_back(one.gib);
    errors += square(one.error);
  }
  const auto count = static_cast<double>(found.size());
  const double error = std::sqrt(std::max(variance(values) / count, errors / square(count)));
  const double value = std::max(0.0, mean_of(values));
  return {Correction::unexplained_memory,
          value * kGiB,
          error * kGiB,
          base,
          static_cast<int>(found.size()),
          ""};
}

}  // namespace

void fit_memory(const imports::Measurement& measurement, const Deployment& deployment, double base,
                CalibrationResult* result) {
  std::vector<Found> found;
  std::string why = never(deployment, *result);
  const bool may = why.empty();
  for (std::size_t i = 0; may && i < result->files.size(); ++i) {
    if (result->files[i].engine != "sglang") continue;
    try {
      const StartUp start = start_up_of(measurement, static_cast<int>(i));
      if (const auto one = found_in(start, deployment, &why)) found.push_back(*one);
    } catch (const InputError& error) {
      why = std::string("the rule cannot be applied: ") + error.what();
    }
  }
  if (found.empty()) {
    if (why.empty()) why = "no log of SGLang tells its memory";
    result->parameters.push_back({Correction::unexplained_memory, base, 0, base, 0, why});
    return;
  }
  result->parameters.push_back(parameter_of(found, base));
  tell_difference(found, result);
}

}  // namespace plateau
