// What every serving engine's scheduler is to the simulation: it admits requests, forms steps and
// keeps the KV books.
//
// The caller (sim/engine/simulation.h) guarantees:
//   - steps complete in the order in which schedule() gave them, and time never goes back;
//   - at most one step is not completed when schedule() is called, and none unless overlaps();
//   - every request fits the pool alone (fits_alone), which the scenario reader has checked.
// The scheduler guarantees, and may not do otherwise:
//   - it never looks at the clock: time reaches it only as the end of a completed step;
//   - KV never exceeds the pool, and every token of every request is delivered once;
//   - with requests waiting and none running, the second look at the latest starts one (the first
//     may only notice that all have ended);
//   - work per step does not grow with the requests that merely wait or run, only with those that
//     join or leave and with the distinct remaining lengths; a retraction, being rare, may sort.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "models/step_ops.h"
#include "sim/engine/observer.h"
#include "sim/serving/kv_cache.h"
#include "sim/serving/request.h"

namespace plateau {

// The two SGLang mains whose rules were read: 2026-02-20 (8d789b5c3d) and 2026-07-20 (8905cbd42f).
// The later one charges every admitted request one page more, and looks at max_prefill_tokens only
// when chunking is off.
enum class SglangRules : std::uint8_t { feb_2026, jul_2026 };

struct SglangLimits {
  SglangRules rules = SglangRules::feb_2026;
  std::int64_t max_prefill_tokens = 16384;
  bool ignore_eos =
      true;  // of the workload; with radix_cache off it selects the look-ahead admission
  bool radix_cache = false;  // without shared prefixes it only changes the admission rule
  bool overlap = true;       // off: disable_overlap_schedule
  bool mixed_chunk = false;
  double schedule_conservativeness = 1.0;
  // The flag is read by nothing from 0.3.6 on: true only for older releases or `hypothetical:`
  // studies.
  bool honour_continuous_decode_steps = false;
};

struct SimpleLimits {
  // true: ceil((prompt + output) / page) pages at admission, nothing is ever retracted. false:
  // pages as they fill up
  // ("current need"); a step that lacks pages retracts the latest admitted.
  bool reserve_output = true;
  // false: the first token comes from a decode step, the textbook convention (no measured engine
  // does this).
  bool prefill_emits_token = true;
};

// Resolved numbers: defaults are applied and flags checked before this.
struct EngineLimits {
  std::int64_t pool_tokens = 0;
  int page_tokens = 1;
  std::int64_t max_running = 1;
  std::int64_t chunk_tokens =
      8192;  // chunked_prefill_size; simple: prompt tokens of a batch. < 1: no limit
  int num_continuous_decode_steps = 1;
  std::vector<int> capture_sizes;  // of CUDA graphs, ascending; empty: every step is eager
  SglangLimits sglang;
  SimpleLimits simple;
};

// What the GPU is to do next.
struct Step {
  StepShape shape;
  std::int64_t running = 0;         // decode: in the batch; prefill: after admission
  std::int64_t kv_used_tokens = 0;  // allocated once the step is launched
  std::optional<RetractionRecord>
      retraction;  // that made room for it (time is filled in by the simulation)
};

// What a completed step delivered. An ended request that an overlapping engine still computes
// delivers nothing.
struct StepResult {
  std::int64_t output_tokens = 0;
  std::int64_t new_requests = 0;
  std::vector<TokenGap> gaps;
  std::vector<RequestRecord> finished;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual void enqueue(const Request& request) = 0;
  // Forms and launches the next step; nullptr when nothing can run now. Valid until the next call.
  virtual const Step* schedule() = 0;
  // The oldest launched step has ended: its tokens exist. Valid until the next call.
  virtual const StepResult& complete(SimTime end) = 0;

  virtual bool overlaps() const = 0;  // schedules step i+1 before it knows the results of step i
  virtual std::int64_t queued() const = 0;
  virtual std::int64_t running() const = 0;  // admitted and not known to have ended
  virtual const KvCache& kv() const = 0;
  // Whether such a request can run when it has the engine to itself, at any point of its life.
  virtual bool fits_alone(std::int64_t input_tokens, std::int64_t max_new_tokens) const = 0;
};

// The table of engines. A new one is a .cpp with its factory, a line here and a line in the
// conformance test.
struct SchedulerEntry {
  const char* name;
  std::unique_ptr<Scheduler> (*make)(const EngineLimits& limits);
};
const std::vector<SchedulerEntry>& schedulers();
std::unique_ptr<Scheduler> make_scheduler(std::string_view name, const EngineLimits& limits);

std::unique_ptr<Scheduler> make_sglang_scheduler(const EngineLimits& limits);
std::unique_ptr<Scheduler> make_simple_scheduler(const EngineLimits& limits);

}  // namespace plateau
