// Which decode batch sizes an engine captures as CUDA graphs, and what a batch is padded to.
//
// SGLang (cuda_graph_runner.py and server_args.py), cut at cuda_graph_max_bs:
//   decode       1, 2, 4, 8, 12; 16..256 step 8; 272..496 step 16; 512..max step 32
//   speculative  1..8; 10..32 step 2; 40..64 step 4; 72..256 step 8; 272..max step 16
// era b appends cuda_graph_max_bs itself.
// vLLM V1: 1, 2, 4; 8..248 step 8; 256..max step 16.
// A batch runs the next captured size; one larger than all of them runs eager. Prefill graphs are
// not described here.
#pragma once

#include <optional>
#include <vector>

#include "models/sglang_era.h"

namespace plateau {

struct SglangGraphOptions {
  SglangEra era = SglangEra::a;
  int max_bs = 0;          // cuda_graph_max_bs
  std::vector<int> sizes;  // cuda_graph_bs: an explicit list replaces the rule
  bool padding = true;     // off (disable_cuda_graph_padding): every size 1..max_bs
  bool speculative = false;
  // Sizes above the request table are dropped; a list that exceeds it gains its size. 0: no limit.
  int request_table = 0;
  // Other sizes are dropped: attention tp where activations are gathered (DP attention).
  int multiple_of = 1;
};

// Ascending, without duplicates. Throws std::invalid_argument for sizes below 1.
std::vector<int> sglang_graph_sizes(const SglangGraphOptions& options);
std::vector<int> vllm_graph_sizes(int max_size);

class CudaGraphs {
 public:
  CudaGraphs() = default;  // captures nothing: every batch is eager
  explicit CudaGraphs(std::vector<int> sizes);

  const std::vector<int>& sizes() const { return sizes_; }
  int largest() const { return sizes_.empty() ? 0 : sizes_.back(); }
  // Rows the kernels run for `batch` requests; nothing when the batch runs eager.
  std::optional<int> padded_batch(int batch) const;

 private:
  std::vector<int> sizes_;  // ascending
};

}  // namespace plateau
