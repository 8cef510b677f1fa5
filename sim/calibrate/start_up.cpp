#include "sim/calibrate/start_up.h"

#include <set>
#include <string_view>

#include "calibration/whole.h"

namespace plateau {

namespace {

using imports::Fact;
using imports::Measurement;

constexpr std::string_view kAfter = "free_memory_after_weights_gib";

// As Measurement::fact, within one file.
const Fact* fact_in(const Measurement& measurement, int file, std::string_view name) {
  const Fact* first = nullptr;
  for (const Fact& fact : measurement.facts) {
    if (fact.file != file || fact.name != name || !fact.number) continue;
    if (fact.preferred) return &fact;
    if (first == nullptr) first = &fact;
  }
  return first;
}

// A rank that speaks again belongs to the next start-up.
std::vector<double> first_of_each_rank(const Measurement& measurement, int file) {
  std::vector<double> values;
  std::set<std::string> ranks;
  for (const Fact& fact : measurement.facts) {
    if (fact.file != file || fact.name != kAfter || !fact.number) continue;
    if (!ranks.insert(fact.rank).second) break;
    values.push_back(*fact.number);
  }
  return values;
}

}  // namespace

StartUp start_up_of(const Measurement& measurement, int file) {
  const auto number = [&](std::string_view name) {
    const Fact* fact = fact_in(measurement, file, name);
    return fact == nullptr ? std::nullopt : fact->number;
  };
  StartUp start;
  start.file = file;
  start.free_gib = number("free_memory_before_weights_gib");
  const std::optional<double> after = number(kAfter);
  start.after_told = start.free_gib && after && *after < *start.free_gib;
  start.weights_gib = start.after_told ? *start.free_gib - *after : number("weights_gib");
  start.after_gib = first_of_each_rank(measurement, file);
  start.pool = fact_in(measurement, file, "kv_capacity_tokens");
  start.kv_gib = number("kv_cache_gib");
  const std::optional<double> keys = number("kv_cache_k_gib");
  const std::optional<double> values = number("kv_cache_v_gib");
  if (!start.kv_gib && keys && values) start.kv_gib = *keys + *values;
  start.fraction = number("server_args.mem_fraction_static");
  if (const auto most = number("server_args.max_total_tokens"))
    start.max_total_tokens = whole(*most);
  return start;
}

std::string missing_in(const StartUp& start) {
  std::vector<const char*> missing;
  if (!start.free_gib) missing.push_back("free memory before the weights");
  if (!start.weights_gib) missing.push_back("the weights");
  if (start.pool == nullptr) missing.push_back("the KV pool");
  std::string text;
  for (std::size_t i = 0; i < missing.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
  return text;
}

}  // namespace plateau
