#include "models/cuda_graphs.h"

#include <algorithm>
#include <stdexcept>

namespace plateau {
namespace {

void append_range(std::vector<int>& sizes, int first, int last, int step) {
  for (int size = first; size <= last; size += step) sizes.push_back(size);
}

std::vector<int> padded_list(int max_bs) {
  std::vector<int> sizes{1, 2, 4, 8, 12};
  append_range(sizes, 16, 256, 8);
  append_range(sizes, 272, 496, 16);
  append_range(sizes, 512, max_bs, 32);
  return sizes;
}

std::vector<int> speculative_list(int max_bs) {
  std::vector<int> sizes;
  append_range(sizes, 1, 8, 1);
  append_range(sizes, 10, 32, 2);
  append_range(sizes, 40, 64, 4);
  append_range(sizes, 72, 256, 8);
  append_range(sizes, 272, max_bs, 16);
  return sizes;
}

void sort_unique(std::vector<int>& sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

std::vector<int> rule_list(const SglangGraphOptions& options) {
  std::vector<int> sizes;
  if (options.speculative) {
    sizes = speculative_list(options.max_bs);
  } else if (options.padding) {
    sizes = padded_list(options.max_bs);
  } else {
    append_range(sizes, 1, options.max_bs, 1);
  }
  const int max_bs = options.max_bs;
  sizes.erase(
      std::remove_if(sizes.begin(), sizes.end(), [max_bs](int size) { return size > max_bs; }),
      sizes.end());
  if (options.era == SglangEra::b && max_bs > 0) sizes.push_back(max_bs);
  return sizes;
}

}  // namespace

std::vector<int> sglang_graph_sizes(const SglangGraphOptions& options) {
  std::vector<int> sizes = options.sizes.empty() ? rule_list(options) : options.sizes;
  sort_unique(sizes);
  if (!sizes.empty() && sizes.front() < 1)
    throw std::invalid_argument("a CUDA graph captures at least 1 request");
  if (options.multiple_of < 1) throw std::invalid_argument("multiple_of must be at least 1");
  const int table = options.request_table;
  if (table > 0 && !sizes.empty() && sizes.back() > table) sizes.push_back(table);
  const auto dropped = [&options, table](int size) {
    return (table > 0 && size > table) || size % options.multiple_of != 0;
  };
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), dropped), sizes.end());
  sort_unique(sizes);
  return sizes;
}

std::vector<int> vllm_graph_sizes(int max_size) {
  std::vector<int> sizes{1, 2, 4};
  append_range(sizes, 8, 248, 8);
  append_range(sizes, 256, max_size, 16);
  sizes.erase(
      std::remove_if(sizes.begin(), sizes.end(), [max_size](int size) { return size > max_size; }),
      sizes.end());
  return sizes;
}

CudaGraphs::CudaGraphs(std::vector<int> sizes) : sizes_(std::move(sizes)) {
  sort_unique(sizes_);
  if (!sizes_.empty() && sizes_.front() < 1)
    throw std::invalid_argument("a CUDA graph captures at least 1 request");
}

std::optional<int> CudaGraphs::padded_batch(int batch) const {
  const auto size = std::lower_bound(sizes_.begin(), sizes_.end(), batch);
  if (size == sizes_.end()) return std::nullopt;
  return *size;
}

}  // namespace plateau
