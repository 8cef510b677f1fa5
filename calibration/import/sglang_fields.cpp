#include "calibration/import/sglang_fields.h"

namespace plateau::imports {

const std::vector<SglangField>& sglang_decode_fields() {
  static const std::vector<SglangField> kFields = {
      {"#running-req", "running_requests", false},
      {"#token", "kv_used_tokens", false},
      {"token usage", "kv_usage_share", false},
      {"#full token", "kv_used_tokens", false},
      {"full token usage", "kv_usage_share", false},
      {"#swa token", "swa_used_tokens", false},
      {"swa token usage", "swa_usage_share", false},
      {"mamba num", "mamba_slots", false},
      {"mamba usage", "mamba_usage_share", false},
      {"accept len", "accept_len_tokens", false},
      {"accept rate", "accept_rate_share", false},
      {"pre-allocated usage", "preallocated_usage_share", false},
      {"#prealloc-req", "prealloc_requests", false},
      {"#transfer-req", "transfer_requests", false},
      {"#retracted-req", "retracted_requests", false},
      {"cuda graph", "cuda_graph", false},
      {"cpu graph", "cuda_graph", false},
      {"npu graph", "cuda_graph", false},
      {"gen throughput (token/s)", "gen_throughput_tok_per_s", false},
      {"#queue-req", "queue_requests", true},
      {"est. decode TFLOPS/s (per GPU)", "est_decode_tflops_per_s_per_gpu", true},
      {"est. read BW (GB/s per GPU)", "est_read_gb_per_s_per_gpu", true},
      {"est. write BW (GB/s per GPU)", "est_write_gb_per_s_per_gpu", true},
      {"fwd occupancy", "forward_occupancy", true},
      {"cap len", "cap_len_tokens", true},
  };
  return kFields;
}

const std::vector<SglangField>& sglang_prefill_fields() {
  static const std::vector<SglangField> kFields = {
      {"#new-seq", "new_requests", false},
      {"#new-token", "new_tokens", false},
      {"#cached-token", "cached_tokens", false},
      {"token usage", "kv_usage_share", false},
      {"full token usage", "kv_usage_share", false},
      {"swa token usage", "swa_usage_share", false},
      {"mamba usage", "mamba_usage_share", false},
      {"gap_latency", "gap_latency_s", false},
      {"#running-req", "running_requests", false},
      {"#queue-req", "queue_requests", true},
      {"#pending-token", "pending_tokens", false},
      {"#unbootstrapped-req", "unbootstrapped_requests", false},
      {"#bootstrap-req", "unbootstrapped_requests", false},
      {"#prealloc-req", "unbootstrapped_requests", false},
      {"#transferring-req", "transferring_requests", true},
      {"#inflight-req", "transferring_requests", true},
      {"#optimistic-req", "optimistic_requests", false},
      {"cuda graph", "cuda_graph", true},
      {"cpu graph", "cuda_graph", true},
      {"npu graph", "cuda_graph", true},
      {"input throughput (token/s)", "input_throughput_tok_per_s", true},
  };
  return kFields;
}

std::string sglang_era(unsigned seen) {
  std::vector<std::string> eras;
  if ((seen & kFullStop) != 0) {
    if ((seen & kTrailingComma) != 0) {
      eras.push_back("0.5.0 to 0.5.3 (2025-08 to 2025-10)");
    } else if ((seen & kDecodeGraph) != 0) {
      eras.push_back("0.4.6 to 0.5.3 (2025-05 to 2025-10)");
    } else {
      eras.push_back((seen & kDecodeNoGraph) != 0 ? "0.4.6 or older (before 2025-05-12)"
                                                  : "0.5.3 or older (before 2025-10)");
    }
  }
  if ((seen & kComma) != 0) {
    if ((seen & kEstimates) != 0) {
      eras.push_back("2026-05 or newer");
    } else if ((seen & kPendingTokens) != 0) {
      eras.push_back("2026-04 or newer");
    } else if ((seen & (kPrefillGraph | kPlainEnd)) != 0) {
      eras.push_back("0.5.9 or newer (from 2026-01-30)");
    } else if ((seen & kTrailingComma) != 0) {
      eras.push_back("0.5.4 to 0.5.8 (2025-10 to 2026-01)");
    } else {
      eras.push_back("0.5.4 or newer (from 2025-10)");
    }
  }
  if ((seen & kOldRetraction) != 0 && (seen & kFullStop) == 0) {
    eras.push_back("2025-09 or older (retraction lines)");
  }
  std::string text;
  for (const std::string& era : eras) text += (text.empty() ? "" : " and ") + era;
  return text.empty() ? "start-up lines only" : text;
}

}  // namespace plateau::imports
