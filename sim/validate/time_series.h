// Measured time series beside the simulated run.
//
//   a trace of steps   phase (prefill | decode), start_s, requests, tokens, ms
//   a power log        t_s, power_w; sm_mhz, util_pct
//
// The run is that of the base scenario. When serving_runs.csv lies beside the file, the row with
// the trace's numbers of steps sets it (the trace of power_X.csv is trace_X.csv).
//
// Trace: every measured step is priced at its own requests and tokens (step_ms, prefill_ms), so
// that the time model is compared whatever the scheduler did; the k-th decode step of the
// simulation is compared with the k-th measured one (running), and the whole of both (decode_steps,
// prefill_batches, mean_running, seconds).
// Power: the simulated watts through a meter that averages the last second, read where the log was
// read, from 1 s on: before that the real meter remembers what came before the run.
#pragma once

#include "calibration/csv.h"
#include "sim/validate/validation.h"

namespace plateau {

bool is_time_series(const CsvTable& table);

// Throws InputError naming every bad cell.
Validation validate_time_series(const ValidationOptions& options, const CsvTable& table);

}  // namespace plateau
