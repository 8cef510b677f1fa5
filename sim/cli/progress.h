// The progress line of a long run: on a terminal, after the first second, a few times a second. It
// reads the wall clock, which is why it writes to the terminal and to nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "sim/engine/observer.h"

namespace plateau {

class Progress : public Observer {
 public:
  Progress(std::ostream* err, std::int64_t requests);
  ~Progress() override;  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void on_request_finished(const RequestRecord& record) override;

 private:
  using Clock = std::chrono::steady_clock;
  void show(const RequestRecord& record);

  std::ostream* err_;
  std::int64_t requests_;
  std::int64_t finished_ = 0;
  Clock::time_point next_;
  std::size_t width_ = 0;  // of the line that stands there
};

}  // namespace plateau
