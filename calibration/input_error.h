// What is wrong with the user's input: every problem found, each with its place and a way out.
//
// Readers collect problems and throw once, so that all of them are shown together. The command
// prints what() and ends with exit code 2.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plateau {

struct Problem {
  std::string file;  // "" = command line
  int line = 0;      // 1-based; 0 = unknown
  int column = 0;
  std::string key;      // path such as "workload.concurrency"; may be empty
  std::string message;  // what is wrong
  std::string hint;     // how to put it right; may be empty
};

// "file:line:column: key: message (hint)"
std::string to_string(const Problem& problem);

class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Problem> problems);
  explicit InputError(Problem problem);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// The closest of `candidates` to a misspelt word ("" when none is near): "did you mean".
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace plateau
