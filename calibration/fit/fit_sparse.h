// The attention core of GLM-5's sparse attention, from a table of the whole block.
//
// dsa_generation_module times everything between the layer's norm and the attention all-reduce:
// projections, indexer, top-k, absorption, core, output projection. The simulator prices those one
// by one, so the core is what is left:
//
//   core(B, L, heads) = block(B, L, heads) - sum of the other operations' prices - graph_gap *
//   operations
//
// for L up to the sparse limit (2048 tokens), and never less than the streaming of its KV plus one
// small kernel. Beyond the limit the core attends to no more tokens; what the block gains there is
// the indexer's:
//
//   indexer_logits(B, L) = block(B, L) - block(B, limit) + indexer_logits(B, limit)
//
// So the priced block adds up to the measured one. Wrong: the split between core and the rest is
// only as good as the other prices, and kernels that the engine overlaps on a second stream are
// charged to nobody in particular.
#pragma once

#include <functional>
#include <vector>

#include "calibration/fit/table_rows.h"

namespace plateau {

struct SparseRows {
  std::vector<TableRow> core;     // mla_decode, sparse
  std::vector<TableRow> indexer;  // indexer_logits at decode, L beyond the limit
  int at_floor = 0;               // core rows that are only their floor
};

// `price` gives the seconds of every other operation of the block.
SparseRows split_sparse_block(const std::vector<TableRow>& block,
                              const std::function<double(const OpCall&)>& price, double graph_gap,
                              double small_kernel, double weight_stream);

}  // namespace plateau
