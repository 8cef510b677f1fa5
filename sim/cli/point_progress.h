// The progress line of work that consists of many points: how many are done and, from the pace so
// far, the time left. On a terminal only; it reads the wall clock and writes nothing but that line.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace plateau {

class PointProgress {
 public:
  // `err` null: shows nothing.
  PointProgress(std::ostream* err, std::int64_t done, std::int64_t total);
  ~PointProgress();  // wipes the line
  PointProgress(const PointProgress&) = delete;
  PointProgress& operator=(const PointProgress&) = delete;

  void add();

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream* err_;
  std::int64_t before_;  // done by an earlier, interrupted run: not part of the pace
  std::int64_t done_;
  std::int64_t total_;
  Clock::time_point start_;
  Clock::time_point next_;
  std::size_t width_ = 0;
};

// "2 h 05 min", "3 min 20 s", "12 s".
std::string duration_text(double seconds);

}  // namespace plateau
