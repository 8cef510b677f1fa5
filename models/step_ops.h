// A step of the engine as a list of operations, for one GPU of a tensor-parallel group.
#pragma once

#include <vector>

#include "models/op.h"

namespace plateau {

// What one engine step processes. Decode and prefill may be mixed (mixed chunk); usually one of
// them is 0.
struct StepShape {
  double decode_sequences = 0;  // running requests that gain one token
  double decode_padded = 0;  // rows the kernels run: the captured graph size, >= decode_sequences
  double decode_context_tokens =
      0;  // sum over the sequences of KV tokens read, the new one included
  double prefill_sequences = 0;
  double prefill_tokens = 0;  // new prompt tokens in this batch, all sequences
  double prefill_context_tokens =
      0;  // sum over the sequences of KV length after the chunk (cached + new)
  double prefill_attended = 0;  // sum over new tokens of the KV tokens each attends to (causal)
  bool graph = false;           // replayed from a captured graph

  double tokens() const { return decode_padded + prefill_tokens; }
};

// How full the experts are when `tokens` tokens enter one MoE layer (means over layers; see
// models/routing.h).
struct ExpertLoad {
  double tokens = 0;
  double active_experts = 0;      // distinct, over all experts (tensor parallel: = on every GPU)
  double rows_max_over_mean = 1;  // hottest expert's tokens over the mean over all experts
};

// How the served model lies on the GPUs.
struct Placement {
  Parallelism parallel;
  DType kv_dtype = DType::bf16;
  bool vocab_parallel =
      true;  // embedding and head split over TP ranks (SGLang, vLLM); false: replicated
};

// The operations of one step, times layers, on one GPU. `load` belongs to shape.tokens(). Tensor
// parallelism only: heads, expert width and vocabulary are divided by tp, KV heads until one is
// left, latent projections are replicated.
std::vector<OpCall> step_ops(const ModelSpec& model, const Placement& placement,
                             const StepShape& shape, const ExpertLoad& load);

}  // namespace plateau
