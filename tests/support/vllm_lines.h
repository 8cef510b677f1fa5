// Lines as vLLM V1 writes them.
#pragma once

#include <string>

namespace plateau::test {

// Six decode steps of 16 to 96 requests, 22 to 32 ms.
inline std::string vllm_iteration_lines() {
  std::string log;
  for (int i = 1; i <= 6; ++i) {
    log += "INFO 03-17 15:38:1" + std::to_string(i) + " [loggers.py:259] Iteration(" +
           std::to_string(i) + "): 0 context requests, 0 context tokens, " +
           std::to_string(16 * i) + " generation requests, " + std::to_string(16 * i) +
           " generation tokens, iteration elapsed time: " + std::to_string(20 + 2 * i) +
           ".00 ms, GPU KV cache usage: 10.0%\n";
  }
  return log;
}

}  // namespace plateau::test
