// Did any prediction move? Every shipped scenario against tests/golden/expected/scenarios.json, key
// by key. A move that is meant needs a line under "Results changed" in CHANGELOG.md; then
// PLATEAU_UPDATE_GOLDEN=1 ctest -L golden rewrites the file.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibration/csv.h"
#include "sim/deployment/run.h"
#include "sim/scenario/read_scenario.h"

using namespace plateau;
using Json = nlohmann::ordered_json;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;
const std::string kExpected = kRoot + "/tests/golden/expected/scenarios.json";

// Relative tolerance by key: counts are exact, the rest may differ by what another libm's last
// digit can do.
struct Key {
  const char* pointer;
  double tolerance;
};
constexpr Key kKeys[] = {{"/throughput/output_tok_per_s", 1e-6},
                         {"/steady_state/output_tok_per_s", 1e-6},
                         {"/running/mean", 1e-6},
                         {"/running/first_wave", 0},
                         {"/kv/capacity_tokens", 0},
                         {"/kv/peak_used_tokens", 0},
                         {"/latency_ms/ttft/p50", 1e-6},
                         {"/latency_ms/tpot/mean", 1e-6},
                         {"/latency_ms/itl/p99", 1e-6},
                         {"/step/decode_count", 0},
                         {"/step/prefill_count", 0},
                         {"/retractions/count", 0},
                         {"/power/gpu_w_mean", 1e-6},
                         {"/power/utilization_pct", 1e-6},
                         {"/energy/j_per_output_token", 1e-6},
                         {"/experts/active_mean", 1e-6},
                         {"/time_split/all_reduce", 1e-5},
                         {"/time_split/moe", 1e-5},
                         {"/time_split/attention", 1e-5},
                         {"/time_split/launch", 1e-5},
                         {"/binding/constraint", 0}};

Json values_of(const std::string& path) {
  ScenarioOptions options;
  options.data_dir = kRoot;
  Deployment deployment(read_scenario(path, options), kRoot);
  const Json report = Json::parse(report_json(run(deployment)));
  Json values;
  for (const Key& key : kKeys) {
    const Json::json_pointer pointer(key.pointer);
    values[key.pointer] = report.contains(pointer) ? report.at(pointer) : Json(nullptr);
  }
  return values;
}

void compare(const Json& now, const Json& expected, const Key& key) {
  const Json& a = now.at(key.pointer);
  const Json& b = expected.at(key.pointer);
  CAPTURE(key.pointer);
  if (a.is_number() && b.is_number()) {
    CHECK(a.get<double>() == doctest::Approx(b.get<double>()).epsilon(key.tolerance + 1e-12));
  } else {
    CHECK(a == b);
  }
}

}  // namespace

TEST_CASE("no shipped scenario's prediction has moved") {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios")) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  Json now;
  for (const std::string& path : paths)
    now[std::filesystem::path(path).filename().string()] = values_of(path);
  if (std::getenv("PLATEAU_UPDATE_GOLDEN") != nullptr) write_file(kExpected, now.dump(1) + "\n");
  const Json expected = Json::parse(read_file(kExpected));
  CHECK(now.size() == expected.size());
  for (const auto& [name, values] : now.items()) {
    CAPTURE(name);
    REQUIRE(expected.contains(name));
    for (const Key& key : kKeys) compare(values, expected.at(name), key);
  }
}
