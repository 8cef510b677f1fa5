// What can be relaxed about a run: the limits of sim/report/binding.h as changes of scenario keys.
//
// A limit that has a size is relaxed by a factor of two, so that gains compare; one that is a
// switch is thrown. Where no key exists, a what-if scale (models/what_if.h) stands in and the knob
// is hypothetical. `nudge` is a small change of the same knob, from which the value of one more
// unit is read.
//
//   kv_pool           engine.kv_pool_tokens x 2                     + 1 GiB a GPU
//   running_cap       engine.max_running_requests x 2               + 1/16 of it
//   admission         engine.schedule_conservativeness / 2          (SGLang)
//   token_budget      chunked_prefill_size, max_prefill_tokens x 2  + 1,024 tokens
//   captured_batch    CUDA graphs on, up to the largest batch of the run
//   kernel_floor      kernel_floor_scale 0.5; launch gaps inside graphs too
//   weight_streaming  memory_bandwidth_scale 2 (the KV cache's bytes as well)   + 5 % in GB/s
//   compute           tensor_rate_scale 2
//   all_reduce        all_reduce_scale 0.5                          + 5 % bus bandwidth in GB/s
//   host              host_scale 0.5; launches too where no graph is replayed
//   power_cap         the cap or the clock of the scenario taken away
//   load              workload.concurrency (and requests) or request_rate x 2   + 1/16 of it
// Prices, which are no limits of their own: fewer experts touched, expert and attention kernels in
// half their time, half of the board's power limit as a cap.
#pragma once

#include <string>
#include <vector>

#include "sim/deployment/deployment.h"

namespace plateau {

struct Knob {
  std::string constraint;
  std::string change;  // in words
  std::vector<std::string> relax;
  bool price = false;
  std::vector<std::string> nudge{};       // empty: a switch
  std::vector<std::string> nudge_from{};  // empty: the scenario as it is
  double amount = 0;
  std::string unit{};
};

// Those that apply to this run, in the order above.
std::vector<Knob> knobs_of(Deployment& deployment, const Report& report);

bool is_hypothetical(const std::vector<std::string>& sets);

}  // namespace plateau
