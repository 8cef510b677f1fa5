// SGLang's new_token_ratio: the share of its remaining tokens that a running request is reckoned to
// use. It falls with each decode step that fits, jumps when requests are retracted, and starts anew
// when the engine is idle.
//   start       min(0.7 * schedule_conservativeness, 1)
//   least       min(0.14 * start, 1)
//   decode step minus (start - least) / 600
//   retraction  min(1, (sum generated + 20 * kept) / (sum max_new + 1)), over the kept requests
// Source: srt/managers/schedule_policy.py and schedule_batch.py, main of 2026-02-20. Environment
// variables can override the constants, which is not modelled.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plateau {

inline constexpr double kInitNewTokenRatio = 0.7;        // SGLANG_INIT_NEW_TOKEN_RATIO
inline constexpr double kMinNewTokenRatioFactor = 0.14;  // SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR
inline constexpr double kNewTokenRatioDecaySteps = 600;  // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
inline constexpr std::int64_t kRetractDecodeSteps = 20;  // SGLANG_RETRACT_DECODE_STEPS

class NewTokenRatio {
 public:
  explicit NewTokenRatio(double conservativeness)
      : start_(std::min(kInitNewTokenRatio * conservativeness, 1.0)),
        least_(std::min(start_ * kMinNewTokenRatioFactor, 1.0)),
        decay_((start_ - least_) / kNewTokenRatioDecaySteps),
        value_(start_) {}

  double value() const { return value_; }
  void reset() { value_ = start_; }
  void decay() { value_ = std::max(value_ - decay_, least_); }
  void estimate(std::int64_t generated, std::int64_t max_new, std::int64_t requests) {
    value_ = std::min(1.0, static_cast<double>(generated + kRetractDecodeSteps * requests) /
                               static_cast<double>(max_new + 1));
  }

 private:
  double start_;
  double least_;
  double decay_;
  double value_;
};

}  // namespace plateau
