// What a run leaves behind for an explanation: its time and energy by cause.
//
// A step's cost is taken apart by pricing it again without one cause after the other, always in
// this order, so that the terms of a step add up to it:
//   prefill in it   a mixed step without its prompt tokens
//   clock           at the largest clock
//   padding         with the rows of the running requests alone
//   imbalance       with the hottest expert as full as the mean one
//   experts         with no more experts touched than one token needs
// and what is left, by part: expert kernels, attention, dense GEMMs, norms, head, collectives
// (waiting for peers included), launch; the host gap before the step is its own term. In a step
// that waits for the CPU's launches a cause that only the GPU feels costs nothing, and so it
// should.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/deployment/deployment.h"

namespace plateau {

enum class Term : std::uint8_t {
  collectives,
  experts_touched,
  expert_kernels,
  imbalance,
  attention,
  dense_gemm,
  norm_etc,
  lm_head,
  launch,
  host,
  clock,
  padding,
  prefill_in_decode
};
inline constexpr std::size_t kTerms = 13;
using TermValues = std::array<double, kTerms>;

// Steps of one kind: seconds and one GPU's joules by term, host gaps included.
struct PhaseTerms {
  TermValues seconds{};
  TermValues joules{};

  double total_seconds() const;
  double total_joules() const;
};

struct RunSummary {
  std::string file;
  std::string load;               // "2,048 clients"
  std::vector<std::string> sets;  // that the caller asked for
  std::vector<std::string> warnings;
  double tok_per_s = 0;  // whole run, output
  double gpu_w = 0;
  std::optional<double> tpot_ms;
  double output_tokens = 0;
  double seconds = 0;  // wall
  PhaseTerms decode;
  PhaseTerms prefill;
  double prefill_tokens = 0;  // of prefill steps, recomputed ones included
  double idle_watts = 0;
  // Over decode steps, each weighted by the requests that it decodes.
  double sequences = 0;       // sum of weights
  double running = 0;         // mean requests
  TermValues step_seconds{};  // mean seconds by term
  double active_experts = 0;  // mean; 0: a dense model
  double rows_max_over_mean = 1;

  double decode_step_seconds() const;  // sum of step_seconds
};

// Runs the deployment.
RunSummary summarise(Deployment& deployment);

}  // namespace plateau
