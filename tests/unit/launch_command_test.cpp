#include "calibration/import/launch_command.h"

#include <doctest/doctest.h>

#include "calibration/input_error.h"

using namespace plateau::imports;

namespace {

LaunchScript parse(const std::string& text) { return parse_launch_script(text, "run.sh"); }

std::string value_of(const LaunchCommand& command, const char* flag) {
  const LaunchFlag* found = command.find(flag);
  return found == nullptr || found->values.empty() ? "" : found->values[0];
}

}  // namespace

TEST_CASE("a launch command becomes a program and its flags") {
  const LaunchScript script = parse(
      "python -m sglang.launch_server --model-path a/b --tp 8 --mem_fraction_static=0.9 "
      "--disable-radix-cache --chunked-prefill-size -1 --cuda-graph-bs 1 2 4");
  REQUIRE(script.commands.size() == 1);
  const LaunchCommand& command = script.commands[0];
  CHECK(command.program == Program::sglang_server);
  CHECK(value_of(command, "model-path") == "a/b");
  CHECK(value_of(command, "tp") == "8");
  CHECK(value_of(command, "mem-fraction-static") == "0.9");  // underscores are dashes
  CHECK(value_of(command, "chunked-prefill-size") == "-1");  // a number, not a flag
  CHECK(command.find("disable-radix-cache")->values.empty());
  CHECK(command.find("cuda-graph-bs")->values == std::vector<std::string>{"1", "2", "4"});
  CHECK(command.find("no-such") == nullptr);
}

TEST_CASE("a script: continuations, comments, variables, environment, containers, quotes") {
  const LaunchScript script = parse(
      "#!/bin/bash\n"
      "# python -m sglang.launch_server --tp 1\n"
      "MODEL=${MODEL:-example/moe}\n"
      "export NCCL_P2P_DISABLE=1\n"
      "NAME='two words'\n"
      "SGLANG_LOG_MS=1 numactl -N 0 \\\n"
      "  docker run -e A=B lmsysorg/sglang:v0.5.8.post1-cu129 \\\n"
      "  bash -c \"python3 -m sglang.launch_server --model $MODEL \\\n"
      "     --served-model-name \\\"$NAME\\\" --host $HOST\" > server.log 2>&1 &\n"
      "python3 -m sglang.bench_serving --num-prompts 10 2> err.log; vllm bench serve --num-prompts "
      "20\n");
  REQUIRE(script.commands.size() == 3);
  CHECK(value_of(script.commands[0], "model") == "example/moe");
  CHECK(value_of(script.commands[0], "served-model-name") == "two words");
  CHECK(value_of(script.commands[0], "host") == "$HOST");  // not set here
  CHECK(script.commands[1].program == Program::sglang_bench);
  CHECK(script.commands[1].flags.size() == 1);
  CHECK(script.commands[1].line == 10);
  CHECK(script.commands[2].program == Program::vllm_bench);
  CHECK(script.environment.at("NCCL_P2P_DISABLE") == "1");
  CHECK(script.environment.at("SGLANG_LOG_MS") == "1");
  CHECK(script.environment.at("A") == "B");
  CHECK(script.environment.count("MODEL") == 0);  // a variable of the shell
  CHECK(script.sglang_version == "0.5.8.post1");
}

TEST_CASE("programs by their names") {
  CHECK(parse("vllm serve a/b -tp 2").commands[0].words == std::vector<std::string>{"a/b"});
  CHECK(value_of(parse("/opt/bin/vllm serve a/b -tp 2").commands[0], "tp") == "2");
  CHECK(parse("python -m vllm.entrypoints.openai.api_server --model a").commands[0].program ==
        Program::vllm_server);
  CHECK(parse("python benchmarks/benchmark_serving.py --model a").commands[0].program ==
        Program::vllm_bench);
  CHECK(parse("sglang serve --model-path a").commands[0].program == Program::sglang_server);
}

TEST_CASE("text that launches nothing, and a quote that is not closed, are refused") {
  CHECK_THROWS_AS(parse(""), plateau::InputError);
  CHECK_THROWS_AS(parse("ls -la && echo done"), plateau::InputError);
  try {
    parse("echo\nvllm serve 'a/b --tp 2\n");
    FAIL("no InputError");
  } catch (const plateau::InputError& error) {
    CHECK(std::string(error.what()).find("run.sh:2: a quote (') is not closed") !=
          std::string::npos);
  }
}
