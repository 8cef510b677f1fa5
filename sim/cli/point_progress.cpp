#include "sim/cli/point_progress.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

namespace plateau {

namespace {

constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kEvery{200};

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = std::llround(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

PointProgress::PointProgress(std::ostream* err, std::int64_t done, std::int64_t total)
    : err_(err),
      before_(done),
      done_(done),
      total_(total),
      start_(Clock::now()),
      next_(start_ + kFirst) {}

PointProgress::~PointProgress() {
  if (width_ > 0) *err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void PointProgress::add() {
  ++done_;
  if (err_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double left =
      seconds / static_cast<double>(done_ - before_) * static_cast<double>(total_ - done_);
  std::string line = fmt::format("{} of {} points, {} left", done_, total_, duration_text(left));
  const std::size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  *err_ << '\r' << line << std::flush;
}

}  // namespace plateau
