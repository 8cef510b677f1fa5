// One request of a client: how long its prompt is and how many tokens it will get.
#pragma once

#include <cstdint>

#include "sim/engine/sim_time.h"

namespace plateau {

struct Request {
  std::int64_t id = 0;
  std::int64_t input_tokens = 0;   // prompt, >= 1
  std::int64_t output_tokens = 0;  // tokens it gets before it ends, >= 1
  std::int64_t max_new_tokens =
      0;           // the limit it was sent with, which admission plans for; >= output_tokens
  SimTime sent{};  // by the client
};

}  // namespace plateau
