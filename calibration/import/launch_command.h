// The command line (or shell script) that launched a server or a benchmark, as programs and flags.
//
// Understood: line continuations, quotes, comments, `export A=B`, `A=B program`, $A, ${A} and
// ${A:-other} of variables set in the script, ; & && | and redirections, and a whole command inside
// quotes (`bash -c "..."`). Programs: sglang.launch_server, sglang.bench_serving, vllm serve (or
// its api_server module), vllm bench serve (or benchmark_serving.py). Everything before the program
// (docker run, numactl, nohup) is passed over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plateau::imports {

struct LaunchFlag {
  std::string name;                 // without dashes, '_' as '-': "max-running-requests"
  std::string written;              // as it stood: "--max-running-requests"
  std::vector<std::string> values;  // the words up to the next flag
  int line = 0;
};

enum class Program : std::uint8_t { sglang_server, sglang_bench, vllm_server, vllm_bench };

struct LaunchCommand {
  Program program = Program::sglang_server;
  std::vector<std::string> words;  // before the first flag: vllm serve MODEL
  std::vector<LaunchFlag> flags;
  std::string text;  // from the program on, on one line
  int line = 0;

  const LaunchFlag* find(std::string_view name) const;  // the last of that name, or nullptr
};

struct LaunchScript {
  std::vector<LaunchCommand> commands;
  std::map<std::string, std::string> environment;  // exported, or set before a program
  std::string sglang_version;                      // from an image tag, "0.5.8"; "" when none
};

// Throws InputError when no known program is in the text, or a quote is not closed.
LaunchScript parse_launch_script(std::string_view text, const std::string& file);

}  // namespace plateau::imports
