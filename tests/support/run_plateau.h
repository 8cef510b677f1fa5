// Runs the built `plateau` as a user would: words in, both streams and the exit code out.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/scenario_text.h"

namespace plateau::test {

struct Transcript {
  int code = -1;
  std::string out;
  std::string err;
};

// `words` goes through the shell; `environment` is put before it ("PLATEAU_DATA=/x ").
inline Transcript run_plateau(const std::string& words, const std::string& environment = "") {
  const TemporaryFolder folder;
  const auto read = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  const std::string command = environment + " " PLATEAU_BINARY " " + words + " >" +
                              folder.path("out") + " 2>" + folder.path("err") + " </dev/null";
  const int status = std::system(command.c_str());
  Transcript transcript;
  transcript.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  transcript.out = read(folder.path("out"));
  transcript.err = read(folder.path("err"));
  return transcript;
}

}  // namespace plateau::test
