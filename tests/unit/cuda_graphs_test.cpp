#include <doctest/doctest.h>

#include <stdexcept>

#include "models/cuda_graphs.h"

using namespace plateau;

namespace {
SglangGraphOptions up_to(int max_bs) {
  SglangGraphOptions options;
  options.max_bs = max_bs;
  return options;
}
}  // namespace

TEST_CASE("K8: graphs up to 512 without speculation are 52 sizes") {
  const std::vector<int> sizes = sglang_graph_sizes(up_to(512));
  CHECK(sizes.size() == 52);
  CHECK(std::vector<int>(sizes.begin(), sizes.begin() + 7) ==
        std::vector<int>{1, 2, 4, 8, 12, 16, 24});
  CHECK(std::vector<int>(sizes.end() - 3, sizes.end()) == std::vector<int>{480, 496, 512});
}

TEST_CASE("a batch is padded to the next captured size and eager above the last") {
  const CudaGraphs graphs(sglang_graph_sizes(up_to(512)));
  CHECK(graphs.largest() == 512);
  CHECK(graphs.padded_batch(1) == 1);
  CHECK(graphs.padded_batch(3) == 4);
  CHECK(graphs.padded_batch(256) == 256);
  CHECK(graphs.padded_batch(257) == 272);
  CHECK(graphs.padded_batch(512) == 512);
  CHECK_FALSE(graphs.padded_batch(513).has_value());
  CHECK_FALSE(CudaGraphs().padded_batch(1).has_value());
}

TEST_CASE("the July 2026 list holds the maximum itself") {
  SglangGraphOptions options = up_to(300);
  CHECK(sglang_graph_sizes(options).back() == 288);
  options.era = SglangEra::b;
  CHECK(sglang_graph_sizes(options).back() == 300);
  options.max_bs = 512;
  CHECK(sglang_graph_sizes(options).size() == 52);
}

TEST_CASE("explicit lists, no padding, speculation") {
  SglangGraphOptions options = up_to(5);
  options.padding = false;
  CHECK(sglang_graph_sizes(options) == std::vector<int>{1, 2, 3, 4, 5});
  options.sizes = {64, 8, 8};
  CHECK(sglang_graph_sizes(options) == std::vector<int>{8, 64});
  options = up_to(40);
  options.speculative = true;
  CHECK(sglang_graph_sizes(options) == std::vector<int>{1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,
                                                        16, 18, 20, 22, 24, 26, 28, 30, 32, 40});
}

TEST_CASE("the request table bounds the list and joins it") {
  SglangGraphOptions options = up_to(512);
  options.request_table = 50;
  CHECK(sglang_graph_sizes(options).back() == 50);
  options.request_table = 2048;
  CHECK(sglang_graph_sizes(options).size() == 52);
  options.multiple_of = 8;
  CHECK(sglang_graph_sizes(options).front() == 8);
}

TEST_CASE("vLLM captures 51 sizes up to 512") {
  const std::vector<int> sizes = vllm_graph_sizes(512);
  CHECK(sizes.size() == 51);
  CHECK(sizes[3] == 8);
  CHECK(sizes.back() == 512);
  CHECK(vllm_graph_sizes(3) == std::vector<int>{1, 2});
}

TEST_CASE("a graph of no request is refused") {
  SglangGraphOptions options = up_to(8);
  options.sizes = {0, 1};
  CHECK_THROWS_AS(sglang_graph_sizes(options), std::invalid_argument);
  CHECK_THROWS_AS(CudaGraphs({-1}), std::invalid_argument);
}
