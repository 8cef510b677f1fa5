// From table rows to laws: which features, which knots, how well it fits.
//
// Rows are fitted to max(latency, streamed_bytes / weight stream): a law is about cold weights and
// KV (calibration/fitted_law.h), and a fit to the latencies themselves would have to follow the
// cliff where they leave the L2 cache. Residuals are relative to the same corrected times.
//
// Experts are fitted over (active experts, rows per active expert); where that leaves more than a
// tenth open (kernels that pad every expert to the hottest, B200's CuteDSL) also over the hottest
// expert.
//
// Held out: laws that span shapes are also fitted without a fifth of them (all rows of every fifth
// (n, k) of a GEMM, of every fifth (query heads, KV heads) of attention, of every fifth expert
// geometry) and judged there; the shipped law is fitted to all rows.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/table_rows.h"
#include "calibration/fitted_law.h"

namespace plateau {

struct Residual {
  LawKey key;
  std::string set;    // "fitted", "held_out" (not seen by the fit that is judged)
  std::string range;  // "all", "m<=64", ...
  int rows = 0;
  int streamed = 0;  // of them raised to the stream of their weights or KV by more than 2 %
  double p50 = 0;    // |relative residual|
  double p90 = 0;
  double worst = 0;
  double bias = 0;  // mean relative residual
};

struct LawFit {
  std::vector<FittedLaw> laws;
  std::vector<Residual> residuals;
};

// One law for every key among the rows.
LawFit fit_laws(const std::vector<TableRow>& rows, const DeviceSpec& device, double weight_stream);

// Experts of any geometry, one law for every type.
LawFit fit_any_experts(const std::vector<TableRow>& rows, const DeviceSpec& device,
                       double weight_stream);

// Fastest rate at which weights far larger than any cache are read at m <= 16, bytes/s: the median
// of the best type's rows. 0 when no row is large enough.
double measured_weight_stream(const std::vector<TableRow>& gemms);

// The corrected time that is fitted.
double cold_seconds(const TableRow& row, double weight_stream);

// Whether the row belongs to the held-out fifth.
bool is_held_out(const OpCall& call);

}  // namespace plateau
