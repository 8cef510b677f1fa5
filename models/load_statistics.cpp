#include "models/load_statistics.h"

#include <algorithm>
#include <numeric>

namespace plateau {

std::int64_t active_experts(const ExpertCounts& counts) {
  return std::count_if(counts.begin(), counts.end(), [](std::int64_t n) { return n > 0; });
}

double max_over_mean(const ExpertCounts& counts) {
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (sum == 0) {
    return 1;
  }
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  return static_cast<double>(most) * static_cast<double>(counts.size()) / static_cast<double>(sum);
}

std::vector<std::int64_t> rank_tokens(const ExpertCounts& counts, int ranks) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(ranks), 0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    tokens[rank_of(i, counts.size(), tokens.size())] += counts[i];
  }
  return tokens;
}

double rank_max_over_mean(const ExpertCounts& counts, int ranks) {
  return max_over_mean(rank_tokens(counts, ranks));
}

std::int64_t padded_rows(const ExpertCounts& counts, std::int64_t tile) {
  std::int64_t rows = 0;
  for (const std::int64_t n : counts) {
    rows += (n + tile - 1) / tile * tile;
  }
  return rows;
}

}  // namespace plateau
