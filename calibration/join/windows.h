// Stretches of a server's log in which one thing happened, told apart by the rules of its decode
// lines (calibration/import/decode_samples.h).
//
//   steady   decode steps of one unchanged batch, line after line
//   idle     nothing was logged for long: longer than twice the longest stretch between two lines
//   of
//            one batch (a decode line comes every 40 steps), and kLeastIdle after it
// All other time holds prefills, a growing or draining batch, or is outside the log. Times are the
// file's own; of a clock in whole seconds the true time is up to one second later.
#pragma once

#include <vector>

#include "calibration/import/decode_samples.h"
#include "calibration/import/measurement.h"

namespace plateau::join {

struct Window {
  int file = 0;
  std::int64_t first_line = 0;
  std::int64_t last_line = 0;
  double start_s = 0;
  double end_s = 0;
  double running_requests = 0;  // 0: idle
  double held_tokens = 0;       // mean; 0: not told
};

inline constexpr double kLeastIdle = 5;  // s

std::vector<Window> steady_windows(const imports::DecodeSamples& samples);
std::vector<Window> idle_windows(const imports::Measurement& measurement,
                                 const imports::DecodeSamples& samples);

// 1 when a file's times are all whole seconds, else 0.
double resolution_of(const std::vector<Window>& windows);

}  // namespace plateau::join
