#include "models/kv_pool.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace plateau {
namespace {

constexpr int kLargestTpFactor = 64;

std::int64_t floor_to(std::int64_t value, std::int64_t unit) { return value / unit * unit; }

// Bytes of a budget in GiB, truncated to an integer as Python's int() does; a negative budget is
// none.
std::int64_t whole_bytes(double gib) { return gib > 0 ? static_cast<std::int64_t>(gib * kGiB) : 0; }

double weights_gib_of(const ModelSpec& spec, const Parallelism& parallel) {
  return weight_bytes(spec, parallel).total() / kGiB;
}

// What the chosen fraction of `base_gib` (free memory or the board) leaves beside weights and other
// costs.
struct Budget {
  double base_gib = 0;
  double fraction = 0;
  double weights_gib = 0;
  double other_gib = 0;
  double left_gib() const { return base_gib * fraction - weights_gib - other_gib; }
};

// Smallest larger tp that leaves room for a page of `page_gib(parallel)`. Logged weights above the
// spec's scale with them.
template <typename PageGib>
int tp_that_fits(const ModelSpec& spec, Parallelism parallel, const Budget& budget,
                 PageGib page_gib) {
  const double logged_over_spec = budget.weights_gib / weights_gib_of(spec, parallel);
  const int largest = parallel.tp * kLargestTpFactor;
  while (parallel.tp < largest) {
    parallel.tp *= 2;
    if (spec.attention.query_heads % parallel.tp != 0) return 0;
    Budget wider = budget;
    wider.weights_gib = weights_gib_of(spec, parallel) * logged_over_spec;
    if (wider.left_gib() >= page_gib(parallel)) return parallel.tp;
  }
  return 0;
}

template <typename PageGib>
Misfit misfit_of(const ModelSpec& spec, const Parallelism& parallel, const Budget& budget,
                 PageGib page_gib) {
  Misfit misfit;
  misfit.missing_gib = page_gib(parallel) - budget.left_gib();
  misfit.minimum_fraction = (budget.weights_gib + budget.other_gib) / budget.base_gib;
  misfit.fits_at_tp = tp_that_fits(spec, parallel, budget, page_gib);
  return misfit;
}

void take_given(KvPool& pool, std::int64_t given) {
  pool.tokens = given;
  pool.bound = PoolBound::given;
  if (!pool.derived_tokens) return;
  pool.unexplained_gib = static_cast<double>(*pool.derived_tokens - given) *
                         static_cast<double>(pool.cell_bytes) / kGiB;
}

bool has_window_pools(const ModelSpec& spec, const SglangPoolInput& input) {
  return input.window_pools && spec.attention.window_layers > 0;
}

double sglang_allocated_gib(const ModelSpec& spec, const SglangPoolInput& input,
                            const KvPool& pool) {
  if (!has_window_pools(spec, input)) {
    const std::int64_t bytes = kv_allocated_bytes(spec, input.parallel, input.kv_dtype, pool.tokens,
                                                  pool.page_tokens, input.layout);
    return static_cast<double>(bytes) / kGiB;
  }
  const double layer_bytes = static_cast<double>(pool.cell_bytes) / spec.layers;
  const int window_layers = spec.attention.window_layers;
  const double slots =
      static_cast<double>(pool.tokens + pool.page_tokens) * (spec.layers - window_layers) +
      static_cast<double>(pool.window_tokens + pool.page_tokens) * window_layers;
  return slots * layer_bytes / kGiB;
}

// Tokens by the rule; 0 when nothing fits.
std::int64_t sglang_derived(const ModelSpec& spec, const SglangPoolInput& input,
                            const Budget& budget, KvPool& pool) {
  // Written as the engine writes it, so that the last token agrees: free after weights less the
  // reserved share.
  const double free_after = budget.base_gib - budget.weights_gib;
  const double rest = input.kv_gib
                          ? *input.kv_gib
                          : free_after - budget.base_gib * (1 - budget.fraction) - budget.other_gib;
  pool.budget_gib = rest;
  std::int64_t tokens = whole_bytes(rest) / pool.cell_bytes;
  if (input.max_total_tokens > 0 && input.max_total_tokens < tokens) {
    tokens = input.max_total_tokens;
    pool.bound = PoolBound::max_total_tokens;
  }
  tokens = floor_to(tokens, pool.page_tokens);
  if (!has_window_pools(spec, input)) return tokens;
  const WindowPools pools =
      split_window_pools(spec, tokens, pool.page_tokens, input.swa_full_tokens_ratio);
  pool.window_tokens = pools.window;
  return pools.full;
}

// False when the board's free memory is not known: then only a given pool can be used.
bool sglang_budget(const ModelSpec& spec, const SglangPoolInput& input, Budget& budget) {
  budget.weights_gib =
      input.weights_gib ? *input.weights_gib : weights_gib_of(spec, input.parallel);
  budget.fraction = input.mem_fraction_static > 0
                        ? input.mem_fraction_static
                        : default_mem_fraction_static(input.options, input.parallel);
  if (input.kv_gib) return true;
  budget.other_gib = input.unexplained_gib;
  if (!input.free_gib && input.options.memory_mib <= 0) return false;
  budget.base_gib =
      input.free_gib ? *input.free_gib : input.options.memory_mib / 1024 - input.overhead_gib;
  return true;
}

// Requested share of the board less everything else; in the engine's order.
Budget vllm_budget(const ModelSpec& spec, const VllmPoolInput& input) {
  Budget budget;
  budget.base_gib = input.memory_gib;
  budget.fraction = input.gpu_memory_utilization > 0 ? input.gpu_memory_utilization
                                                     : default_gpu_memory_utilization(input.era);
  budget.weights_gib =
      input.weights_gib ? *input.weights_gib : weights_gib_of(spec, input.parallel);
  budget.other_gib = input.activation_gib + input.non_torch_gib + input.unexplained_gib;
  if (input.era == VllmEra::aug_2026) budget.other_gib += input.graphs_gib;
  return budget;
}

std::int64_t vllm_bytes(const VllmPoolInput& input, const Budget& budget) {
  if (input.kv_gib) return whole_bytes(*input.kv_gib);
  const double requested = std::ceil(input.memory_gib * kGiB * budget.fraction);
  const double bytes = requested - (budget.weights_gib + budget.other_gib) * kGiB;
  return bytes > 0 ? static_cast<std::int64_t>(bytes) : 0;
}

void check_vllm(const VllmPoolInput& input) {
  if (input.block_tokens < 0 || input.draft_layers < 0 || input.context_parallel < 1) {
    throw std::invalid_argument(
        "block_tokens and draft_layers cannot be negative, context_parallel is at least 1");
  }
  if (!input.kv_gib && input.memory_gib <= 0 && !input.given_tokens) {
    throw std::invalid_argument(
        "neither the board's memory nor the KV memory nor the pool is known");
  }
}

}  // namespace

const char* name_of(PoolBound bound) {
  switch (bound) {
    case PoolBound::memory:
      return "memory";
    case PoolBound::max_total_tokens:
      return "max_total_tokens";
    case PoolBound::given:
      return "given";
  }
  return "?";
}

KvPool sglang_kv_pool(const ModelSpec& spec, const SglangPoolInput& input) {
  KvPool pool;
  pool.page_tokens = input.page_tokens > 0 ? input.page_tokens : default_page_size(spec);
  pool.cell_bytes = kv_bytes_per_token(spec, input.parallel, input.kv_dtype,
                                       input.kv_gib ? input.layout : KvLayout::plain);
  if (pool.cell_bytes < 1) throw std::invalid_argument("the model has no KV cache");
  Budget budget;
  const bool known = sglang_budget(spec, input, budget);
  if (!known && !input.given_tokens)
    throw std::invalid_argument("free GPU memory is not known and no pool is given");
  pool.fraction = budget.fraction;
  pool.weights_gib = budget.weights_gib;
  if (known) {
    pool.free_gib = budget.base_gib;
    pool.told_unexplained_gib = budget.other_gib;
    pool.tokens = sglang_derived(spec, input, budget, pool);
    pool.derived_tokens = pool.tokens;
    if (pool.tokens < 1 && !input.kv_gib) {
      pool.misfit = misfit_of(spec, input.parallel, budget, [&](const Parallelism& parallel) {
        const std::int64_t cell = kv_bytes_per_token(spec, parallel, input.kv_dtype);
        return static_cast<double>(cell * pool.page_tokens) / kGiB;
      });
    }
  }
  if (input.given_tokens) {
    take_given(pool, *input.given_tokens);
    if (has_window_pools(spec, input)) {
      const double window = static_cast<double>(pool.tokens) * input.swa_full_tokens_ratio;
      pool.window_tokens = floor_to(static_cast<std::int64_t>(window), pool.page_tokens);
    }
  }
  pool.allocated_gib = sglang_allocated_gib(spec, input, pool);
  return pool;
}

KvPool vllm_kv_pool(const ModelSpec& spec, const VllmPoolInput& input) {
  check_vllm(input);
  ModelSpec cached = spec;  // every layer that holds a cache: drafts too
  cached.layers += input.draft_layers;
  const int block = input.block_tokens > 0 ? input.block_tokens : vllm_block_size(spec);
  KvPool pool;
  pool.page_tokens = block * input.context_parallel;
  pool.cell_bytes = kv_bytes_per_token(cached, input.parallel, input.kv_dtype, input.layout);
  if (pool.cell_bytes < 1) throw std::invalid_argument("the model has no KV cache");
  const Budget budget = vllm_budget(spec, input);
  pool.fraction = budget.fraction;
  pool.weights_gib = budget.weights_gib;
  pool.free_gib = input.memory_gib;
  if (input.kv_gib || input.memory_gib > 0) {
    const std::int64_t layer_bytes = pool.cell_bytes / cached.layers;
    const std::int64_t blocks = vllm_bytes(input, budget) / (block * layer_bytes) / cached.layers;
    pool.tokens = blocks * pool.page_tokens;
    pool.derived_tokens = pool.tokens;
    pool.budget_gib = input.kv_gib ? *input.kv_gib : budget.left_gib();
    pool.told_unexplained_gib = input.kv_gib ? 0 : input.unexplained_gib;
    if (blocks < 1 && !input.kv_gib) {
      pool.misfit = misfit_of(spec, input.parallel, budget, [&](const Parallelism& parallel) {
        const std::int64_t cell =
            kv_bytes_per_token(cached, parallel, input.kv_dtype, input.layout);
        return static_cast<double>(cell * block) / kGiB;
      });
    }
  }
  if (input.given_tokens) take_given(pool, *input.given_tokens);
  pool.allocated_gib = static_cast<double>(pool.tokens / input.context_parallel) *
                       static_cast<double>(pool.cell_bytes) / kGiB;
  return pool;
}

std::int64_t vllm_usable_blocks(const KvPool& pool) {
  return std::max<std::int64_t>(pool.tokens / pool.page_tokens - 1, 0);
}

double vllm_max_concurrency(const KvPool& pool, std::int64_t tokens_per_request) {
  if (tokens_per_request < 1) throw std::invalid_argument("a request holds at least one token");
  const std::int64_t blocks = (tokens_per_request + pool.page_tokens - 1) / pool.page_tokens;
  return static_cast<double>(pool.tokens / pool.page_tokens) / static_cast<double>(blocks);
}

}  // namespace plateau
