// Rows of AIConfigurator's kernel tables as priced calls.
//
// One reader a table (layout and units: columns as in the repository's README of the data sets;
// latency in ms, one call on one GPU). A reader keeps the rows that the simulator's operations ask
// for, counts the others by reason, and of rows with the same key takes the first, as
// AIConfigurator does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/op.h"

namespace plateau {

struct TableRow {
  OpCall call;
  double seconds = 0;
  std::string kernel;
};

// What became of one file's rows.
struct TableUse {
  std::string file;  // relative to the table folder
  std::int64_t rows = 0;
  std::int64_t used = 0;
  std::map<std::string, std::int64_t> ignored;  // reason -> rows
};

struct TableRows {
  std::vector<TableRow> rows;
  TableUse use;
};

// `file` is shown in messages and kept in TableUse::file; `path` is read. Each throws InputError.
TableRows gemm_rows(const std::string& path, const std::string& file);
TableRows moe_rows(const std::string& path, const std::string& file);  // tensor parallel rows
TableRows decode_attention_rows(const std::string& path, const std::string& file);
TableRows prefill_attention_rows(const std::string& path, const std::string& file);
TableRows decode_mla_rows(const std::string& path, const std::string& file);
TableRows prefill_mla_rows(const std::string& path, const std::string& file);
TableRows mla_bmm_rows(const std::string& path, const std::string& file);
// Prefill kernels of the sparse indexer: one sequence, no cached prefix.
TableRows indexer_logits_rows(const std::string& path, const std::string& file);
TableRows indexer_topk_rows(const std::string& path, const std::string& file);
// The whole sparse attention block of GLM-5 at decode, bf16 projections; the calls are mla_decode
// with context_tokens NOT capped at the sparse limit. fit_sparse.h takes the projections out.
TableRows sparse_block_rows(const std::string& path, const std::string& file);

// The same block at prefill; the calls are mla_prefill with all of their context.
TableRows sparse_prefill_rows(const std::string& path, const std::string& file);

// Keeps, for every law, the kernel with most rows.
void keep_main_kernels(TableRows& table);

}  // namespace plateau
