#include <fmt/format.h>

#include "sim/scenario/sections.h"

namespace plateau {

namespace {

constexpr double kLargestScale = 1e6;

}  // namespace

void read_what_if(ConfigReader hypothetical, WhatIf* what_if, std::vector<std::string>* warnings) {
  for (const WhatIfKey& key : what_if_keys()) {
    const auto scale = hypothetical.optional<double>(key.key, {key.least, kLargestScale});
    if (!scale || *scale == 1) continue;
    what_if->*key.scale = *scale;
    warnings->push_back(
        fmt::format("hypothetical.{}: {} (no such hardware or engine was measured): {}", key.key,
                    *scale, key.meaning));
  }
}

}  // namespace plateau
