// What all engines with continuous batching do alike: a waiting queue, KV books, a running batch
// that gains a token a step, and results that arrive when a step completes. An engine derives from
// it and writes form_step(): whom it admits, whom it retracts, and when it prefills.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/running_batch.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/token_clock.h"

namespace plateau {

class BatchingScheduler : public Scheduler {
 public:
  void enqueue(const Request& request) override;
  const Step* schedule() final;
  const StepResult& complete(SimTime end) override;

  std::int64_t queued() const override { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t running() const override { return table_.size() - queued(); }
  const KvCache& kv() const override { return kv_; }

 protected:
  struct Options {
    bool reserve_output = false;  // pages of prompt and output at admission, else as they fill
    bool prefill_emits_token = true;
  };
  BatchingScheduler(const EngineLimits& limits, Options options);

  // Retracts if it must, then launches a step: launch(), and any of decode_running() and prefill().
  // False: nothing can run now.
  virtual bool form_step() = 0;

  // A request has delivered its last token, by its prefill or by a decode step; its KV is free.
  virtual void request_ended(const ActiveRequest& active, bool by_prefill) = 0;

  // ---- forming a step ----
  void launch();
  // One token for every running request; takes the pages that needs, which must be free.
  void decode_running();
  // The next `tokens` of the request's prompt (and of the tokens it had before a retraction). It
  // joins the running batch when nothing is left to prefill.
  void prefill(Slot slot, std::int64_t tokens);

  // ---- what the engine may ask ----
  // To be prefilled: all of the prompt and of the tokens generated before a retraction.
  std::int64_t prefill_left(Slot slot) const;
  // Tokens that the engine has seen: the ones of a step in flight are launched but unknown to its
  // host.
  std::int64_t known_generated(Slot slot) const;
  bool in_flight() const { return flying_ > 0; }
  // Of the step in flight (the only one when an engine schedules).
  bool decode_in_flight() const { return flying_ > 0 && last_flight().decode; }
  const std::vector<Slot>& prefilled_in_flight() const;

  // Takes a running request off the GPU: its KV is freed, its known tokens are kept, it will be
  // prefilled again. The caller puts it back into waiting_. Adds to the step's retraction record.
  // Only before launch().
  void retract(Slot slot);
  RetractionRecord& retraction();

  EngineLimits limits_;
  RequestTable table_;
  KvCache kv_;
  RunningBatch running_;
  std::deque<Slot> waiting_;

 private:
  struct Flight {  // a launched step
    std::int64_t serial = 0;
    bool decode = false;
    std::int64_t decode_step = 0;
    std::vector<Slot> prefilled;  // requests whose prefill ends with it
  };

  Flight& flight(std::size_t age) { return flights_[(first_flight_ + age) % flights_.size()]; }
  const Flight& last_flight() const {
    return flights_[(first_flight_ + flying_ - 1) % flights_.size()];
  }
  void deliver_decode(const Flight& flight, SimTime end);
  void deliver_prefill(const Flight& flight, SimTime end);
  // The first token, or the first after a retraction.
  void deliver_token(ActiveRequest& active, SimTime end);
  void end_request(Slot slot, SimTime end, bool by_prefill);
  void forget_prefill_in_flight(Slot slot);
  std::int64_t pages_held(Slot slot) const;
  void set_decode_shape();

  Options options_;
  TokenClock clock_;
  SimTime last_decode_end_{};
  std::int64_t completed_decode_ = 0;   // decode step completed last
  std::int64_t completed_serial_ = -1;  // step completed last
  std::int64_t launched_ = 0;
  std::array<Flight, 2> flights_;
  std::size_t first_flight_ = 0;
  std::size_t flying_ = 0;
  std::vector<Slot> awaiting_token_;  // prefilled without a token: the next decode step brings it
  std::vector<Slot> ending_;
  Step step_;
  StepResult result_;
};

}  // namespace plateau
