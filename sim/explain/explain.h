// Why two runs differ: the change from A to B in output tok/s, TPOT and watts, split into causes
// that sum to the whole.
//
// Seconds per output token of each run, exactly:
//   t = t_decode + t_prefill + t_idle = 1 / X
//   t_decode = step / (running * tail * tokens per decoded token)
//     running, step  mean requests and mean seconds of a decode step, the host gap included; means
//                    over decode steps weighted by the requests they decode
//     tail           (sum of running / sum of step) / (running / step): 1 when all steps are alike
//   t_prefill = prompt tokens per output token * seconds per prompt token
// With the logarithmic mean L(a, b) = (a - b) / ln(a / b), d ln of a product is the sum of d ln of
// its factors and d ln of a sum is the sum of the d of its terms over L (LMDI), both exactly:
//   dX = - L(X) / L(t) * dt,   dt_decode = L(t_decode) * (d ln step - d ln running - ...),
//   L(step) * d ln step = sum of d(term), and likewise for t_prefill
// Factors are the causes batch, tail and prefill_share (prompt tokens, tokens that prefill gives);
// idle time is load; the terms of both kinds of steps (sim/explain/run_summary.h) are the others.
// TPOT = step + what comes between two decode steps, which is split as t_prefill is.
// Watts = sum over phases (decode, prefill, idle) of share * watts, watts = sum over terms; a shift
// of time towards a part counts by that part's watts above the mean of the two runs:
//   dP = sum over phases of (w - P) ds  [prefill_share, load]  +  s * sum over terms of (dj - w dt)
// with w, s, P the means of A and B, j and t a term's joules and seconds per second of its phase.
//
// L is symmetric and every d changes its sign with the order, so explain(B, A) is the negative of
// explain(A, B) to the bit. A cause says where the change appears, not who was at fault: a larger
// batch that makes all-reduces longer shows as batch (gain) and collectives (loss).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/explain/run_summary.h"
#include "sim/report/report.h"

namespace plateau {

struct CauseShare {
  std::string cause;
  std::string what;         // that its figures a and b count
  std::optional<double> a;  // of run A, in `unit`
  std::optional<double> b;
  std::string unit;
  double output_tok_per_s = 0;    // share of the change
  std::optional<double> tpot_ms;  // missing when a run has no TPOT
  double gpu_w_mean = 0;
};

struct Explanation {
  RunSummary a;
  RunSummary b;
  std::vector<CauseShare> causes;     // largest share of tok/s first
  std::vector<std::string> warnings;  // of both runs, "A: ..." and "B: ..."
};

Explanation explain(const RunSummary& a, const RunSummary& b);

// (hi - lo) / ln(hi / lo) of two positive numbers; their value when equal. Symmetric to the bit.
double logarithmic_mean(double a, double b);

std::string explain_json(const Explanation& explanation);  // schema plateau-explain/1
std::string explain_text(const Explanation& explanation, const TextOptions& options = {});

}  // namespace plateau
