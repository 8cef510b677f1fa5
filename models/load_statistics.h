// Figures of one layer's load: how many tokens each expert got, and what that means for tiles and
// ranks.
#pragma once

#include <cstdint>
#include <vector>

namespace plateau {

using ExpertCounts = std::vector<std::int64_t>;  // tokens of each expert

std::int64_t active_experts(const ExpertCounts& counts);
double max_over_mean(const ExpertCounts& counts);  // 1 when empty

// Tokens of each rank when experts are placed contiguously: expert i of E on rank floor(i ranks /
// E).
std::vector<std::int64_t> rank_tokens(const ExpertCounts& counts, int ranks);
double rank_max_over_mean(const ExpertCounts& counts, int ranks);

// Rows that a grouped GEMM computes when each expert's rows are padded to a multiple of `tile`.
std::int64_t padded_rows(const ExpertCounts& counts, std::int64_t tile);

// Rank of an expert under contiguous placement.
inline std::size_t rank_of(std::size_t expert, std::size_t experts, std::size_t ranks) {
  return expert * ranks / experts;
}

}  // namespace plateau
