#include "calibration/corrections.h"

namespace plateau {

const CorrectionKey& key_of(Correction correction) {
  static const std::array<CorrectionKey, kCorrections> kKeys = {{
      {"kernel_time", std::nullopt, "x", "time of every operation but collectives"},
      {"attention_time", std::nullopt, "x", "time of attention, beside kernel_time"},
      {"collective_time", std::nullopt, "x", "time of collectives"},
      {"launch_time", std::nullopt, "x", "gaps between kernels and launches"},
      {"prefill_time", std::nullopt, "x", "time of a prefill step, beside the others"},
      {"host_step", Dimension::time, "s", "host work per step"},
      {"host_request", Dimension::time, "s", "host work per running request"},
      {"power_idle", Dimension::power, "W", "one GPU with nothing to run"},
      {"power_wait", Dimension::power, "W", "floor of one GPU while anything runs"},
      {"power_gain", std::nullopt, "x", "watts above the floor"},
      {"unexplained_memory", Dimension::memory, "B", "of one GPU, in no term of the pool's rule"},
  }};
  return kKeys[static_cast<std::size_t>(correction)];
}

bool is_collective(Op op) { return op == Op::all_reduce || op == Op::all_gather; }

bool reads_context(Op op) {
  switch (op) {
    case Op::attention_decode:
    case Op::attention_prefill:
    case Op::mla_decode:
    case Op::mla_prefill:
    case Op::indexer_logits:
    case Op::indexer_topk:
      return true;
    default:
      return false;
  }
}

}  // namespace plateau
