// Collective tables as curves: message_size counts elements of two bytes (half, bf16), latency is
// in ms. Of rows with the same size the first counts; each reader throws InputError.
#pragma once

#include <string>

#include "calibration/collective_curves.h"
#include "calibration/fit/table_rows.h"

namespace plateau {

// nccl.csv: all_reduce and all_gather in half precision.
TableUse read_nccl(const std::string& path, const std::string& file, CollectiveCurves& curves);

// custom_allreduce.csv: the engine's own all-reduce inside a graph, up to the size at which it
// hands over to NCCL.
TableUse read_custom_all_reduce(const std::string& path, const std::string& file,
                                CollectiveCurves& curves);

}  // namespace plateau
