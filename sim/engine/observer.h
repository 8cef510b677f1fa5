// What the simulation tells those who watch it. Observers never influence the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/step_cost.h"
#include "sim/engine/sim_time.h"

namespace plateau {

// Tokens that arrived `gap` after the same request's previous token: `count` requests at once.
struct TokenGap {
  SimTime gap{};
  std::int64_t count = 0;
};

struct StepRecord {
  SimTime start{};     // the GPU starts
  SimTime end{};       // the GPU is done, tokens exist
  SimTime host_gap{};  // host time before `start` that the GPU spent waiting for the engine
  SimTime idle{};      // time before that with nothing to run
  const StepShape* shape = nullptr;
  const StepCost* cost = nullptr;
  std::int64_t running =
      0;  // requests in the running batch during this step (decode), after admission (prefill)
  std::int64_t queued = 0;          // waiting in the engine while the step ran
  std::int64_t kv_used_tokens = 0;  // allocated, page-rounded, during the step
  std::int64_t output_tokens = 0;   // delivered by this step
  std::int64_t new_requests = 0;    // prefill: requests whose first token this step emits
  const std::vector<TokenGap>* gaps = nullptr;  // inter-token latencies completed by this step
  std::size_t replica = 0;
};

struct RequestRecord {
  std::int64_t id = 0;
  SimTime sent{};         // by the client
  SimTime first_token{};  // first token reached the client
  SimTime finished{};     // last token
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  int retractions = 0;
  std::size_t replica = 0;  // that served it
};

struct RetractionRecord {
  SimTime time{};
  std::int64_t requests = 0;
  std::int64_t recompute_tokens = 0;  // that will have to be prefilled again
  std::int64_t kv_tokens_freed = 0;
  double new_token_ratio_before = 0;
  double new_token_ratio_after = 0;
  std::size_t replica = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepRecord&) {}
  virtual void on_request_finished(const RequestRecord&) {}
  virtual void on_retraction(const RetractionRecord&) {}
  virtual void on_end(SimTime /*last_token*/) {}
};

}  // namespace plateau
