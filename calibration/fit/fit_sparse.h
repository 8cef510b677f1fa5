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
// Prefill likewise, from dsa_context_module: core(queries, context, heads) is what the other
// operations and an eager launch gap leave. Rows that are shorter than their own projections are
// left out. That table was timed without a graph: a block below some 0.5 ms is bound by the host
// that launched it, and says so here.
//
// So the priced block adds up to the measured one. Wrong: the split between core and the rest is
// only as good as the other prices, and kernels that the engine overlaps on a second stream are
// charged to nobody in particular.
#pragma once

#include <functional>
#include <vector>

#include "calibration/fit/table_rows.h"

namespace plateau {

// What is known when the cores are sought.
struct SparsePrices {
  std::function<double(const OpCall&)> seconds;  // of every other operation of the block
  double gap = 0;                                // after each operation
  double small_kernel = 0;                       // s
  double weight_stream = 0;                      // bytes/s
};

struct SparseRows {
  std::vector<TableRow> core;     // mla_decode or mla_prefill, sparse
  std::vector<TableRow> indexer;  // indexer_logits at decode, L beyond the limit
  int at_floor = 0;  // rows no longer than the block's other operations: decode at its floor,
                     // prefill left out
};

// Seconds of the whole block at `core`'s shape (context not capped), gaps included: what the table
// holds, put together again from prices.
double sparse_block_seconds(const OpCall& core, const SparsePrices& prices);

SparseRows split_sparse_block(const std::vector<TableRow>& block, const SparsePrices& prices);
SparseRows split_sparse_prefill(const std::vector<TableRow>& block, const SparsePrices& prices);

}  // namespace plateau
