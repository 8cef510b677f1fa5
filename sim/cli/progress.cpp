#include "sim/cli/progress.h"

#include <ostream>

namespace plateau {

namespace {

constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kEvery{200};
constexpr std::int64_t kLook = 64;  // requests between looks at the clock

}  // namespace

Progress::Progress(std::ostream* err, std::int64_t requests)
    : err_(err), requests_(requests), next_(Clock::now() + kFirst) {}

Progress::~Progress() {
  if (width_ > 0) *err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void Progress::on_request_finished(const RequestRecord& record) {
  if (++finished_ % kLook != 0) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  show(record);
}

void Progress::show(const RequestRecord& record) {
  std::string line = std::to_string(finished_) + " of " + std::to_string(requests_) +
                     " requests, " + std::to_string(record.finished.count() / 1'000'000'000) +
                     " s simulated";
  const std::size_t width = line.size();
  if (line.size() < width_) line.append(width_ - line.size(), ' ');
  width_ = width;
  *err_ << '\r' << line << std::flush;
}

}  // namespace plateau
