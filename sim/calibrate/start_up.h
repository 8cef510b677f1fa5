// What an SGLang server's log says of its memory while it starts: the terms of the pool's rule.
//
// Free memory and weights are those of the fullest GPU that prints, as the engine takes them
// (least over ranks); several servers in one log: the first. All figures have two decimals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/measurement.h"

namespace plateau {

struct StartUp {
  int file = 0;
  std::optional<double> free_gib;     // before the weights
  std::optional<double> weights_gib;  // free before less free after; else what the log calls them
  bool after_told = false;            // weights follow from the free memory after them
  std::vector<double> after_gib;      // of each rank that prints
  const imports::Fact* pool = nullptr;
  std::optional<double> kv_gib;    // size of that pool
  std::optional<double> fraction;  // mem_fraction_static among the server's arguments
  std::optional<std::int64_t> max_total_tokens;
};

StartUp start_up_of(const imports::Measurement& measurement, int file);

// "free memory before the weights and the KV pool"; "": all is told.
std::string missing_in(const StartUp& start);

}  // namespace plateau
