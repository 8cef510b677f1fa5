// From a scenario's engine flags to the numbers a scheduler runs on: defaults applied, pool sized,
// graphs listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kv_pool.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/scheduler.h"

namespace plateau {

struct ResolvedEngine {
  std::string scheduler;  // name in the table of sim/serving/scheduler.h
  EngineLimits limits;
  KvPool pool;
  std::string kv_source;  // "given" | "log" | "derived"
  // What the memory rule gives with the spec's weights in place of logged ones; nothing when there
  // are none.
  std::optional<std::int64_t> derived_tokens_spec_weights;
  DType kv_dtype = DType::bf16;
  bool vocab_parallel = true;
  std::vector<std::string> warnings;
};

// The KV pool alone, by the engine's rule; of vLLM too. Throws InputError.
KvPool kv_pool_of(const Scenario& scenario, const DeviceSpec& device);

// Throws InputError: weights that do not fit (by how many GiB, and the TP at which they would), a
// pool that cannot hold the longest request.
ResolvedEngine resolve_engine(const Scenario& scenario, const DeviceSpec& device);

// For whole runs: logged weights and a given pool are those of one TP and device; under another the
// arithmetic that they replace has to hold too. Throws InputError where one GPU cannot hold its
// share of the spec's weights.
void check_weights(const Scenario& scenario, const DeviceSpec& device);

}  // namespace plateau
