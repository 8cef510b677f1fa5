// Our own bug, as opposed to the user's input (calibration/input_error.h): a broken invariant stops
// the run.
#pragma once

#include <stdexcept>
#include <string>

namespace plateau {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void fail_check(const char* condition, const char* file, int line,
                                    const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + message +
                      " (violated: " + condition + ")");
}

}  // namespace plateau

// Always on: a wrong simulation is worth less than a slow one. Simulation::run adds the simulated
// time.
#define PLATEAU_CHECK(condition, message)                                               \
  do {                                                                                  \
    if (!(condition)) ::plateau::fail_check(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
