#include "sim/serving/batching.h"

#include <algorithm>

namespace plateau {

BatchingScheduler::BatchingScheduler(const EngineLimits& limits, Options options)
    : limits_(limits),
      kv_(limits.pool_tokens, limits.page_tokens),
      running_(table_, limits.page_tokens, options.prefill_emits_token),
      options_(options) {
  PLATEAU_CHECK(limits.max_running >= 1, "an engine that runs nothing");
  PLATEAU_CHECK(std::is_sorted(limits.capture_sizes.begin(), limits.capture_sizes.end()),
                "captured sizes are not ascending");
}

void BatchingScheduler::enqueue(const Request& request) {
  PLATEAU_CHECK(request.input_tokens >= 1 && request.output_tokens >= 1, "an empty request");
  PLATEAU_CHECK(request.max_new_tokens >= request.output_tokens, "output above its own limit");
  PLATEAU_CHECK(fits_alone(request.input_tokens, request.max_new_tokens),
                "the KV pool is smaller than one request");
  waiting_.push_back(table_.add(request));
}

// ---- forming a step ----

const Step* BatchingScheduler::schedule() {
  step_ = {};
  if (!form_step()) return nullptr;
  set_decode_shape();
  step_.running = running_.size();
  step_.kv_used_tokens = kv_.used_tokens();
  return &step_;
}

void BatchingScheduler::launch() {
  PLATEAU_CHECK(flying_ < (overlaps() ? flights_.size() : 1), "too many steps in flight");
  ++flying_;
  Flight& flight = this->flight(flying_ - 1);
  flight.serial = launched_++;
  flight.decode = false;
  flight.prefilled.clear();
}

void BatchingScheduler::decode_running() {
  PLATEAU_CHECK(running_.size() > 0, "a decode step of nobody");
  if (!options_.reserve_output) kv_.take(running_.pages_needed());
  running_.step();
  Flight& flight = this->flight(flying_ - 1);
  flight.decode = true;
  flight.decode_step = running_.steps();
  step_.shape.decode_sequences = static_cast<double>(running_.size());
  step_.shape.decode_context_tokens = static_cast<double>(running_.context_tokens());
}

void BatchingScheduler::prefill(Slot slot, std::int64_t tokens) {
  ActiveRequest& active = table_[slot];
  PLATEAU_CHECK(tokens >= 1 && tokens <= prefill_left(slot), "prefill past the prompt");
  const std::int64_t before = active.prefilled;
  active.prefilled += tokens;
  if (!options_.reserve_output) {
    kv_.take(kv_.pages_for(active.prefilled) - kv_.pages_for(before));
  } else if (before == 0) {
    kv_.take(kv_.pages_for(active.request.input_tokens + active.request.max_new_tokens));
  }
  StepShape& shape = step_.shape;
  const auto cached = static_cast<double>(before);
  const auto fresh = static_cast<double>(tokens);
  shape.prefill_sequences += 1;
  shape.prefill_tokens += fresh;
  shape.prefill_context_tokens += cached + fresh;
  shape.prefill_attended += fresh * cached + fresh * (fresh + 1) / 2;
  if (prefill_left(slot) > 0) return;
  Flight& flight = this->flight(flying_ - 1);
  active.prefill_serial = flight.serial;
  flight.prefilled.push_back(slot);
  running_.join(slot, active.generated + (options_.prefill_emits_token ? 1 : 0));
}

// A batch runs the next captured size; a larger one, or one that prefills as well, runs eager.
void BatchingScheduler::set_decode_shape() {
  StepShape& shape = step_.shape;
  shape.decode_padded = shape.decode_sequences;
  if (shape.decode_sequences == 0 || shape.prefill_sequences > 0) return;
  const auto& sizes = limits_.capture_sizes;
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), shape.decode_sequences,
                                     [](int a, double b) { return a < b; });
  if (size == sizes.end()) return;
  shape.decode_padded = *size;
  shape.graph = true;
}

// ---- what the engine may ask ----

std::int64_t BatchingScheduler::prefill_left(Slot slot) const {
  const ActiveRequest& active = table_[slot];
  return active.request.input_tokens + active.generated - active.prefilled;
}

std::int64_t BatchingScheduler::known_generated(Slot slot) const {
  std::int64_t unknown = 0;
  if (flying_ > 0) {
    const Flight& flight = last_flight();
    unknown = flight.decode || table_[slot].prefill_serial == flight.serial ? 1 : 0;
  }
  return running_.generated(slot) - unknown;
}

const std::vector<Slot>& BatchingScheduler::prefilled_in_flight() const {
  static const std::vector<Slot> kNone;
  return flying_ > 0 ? last_flight().prefilled : kNone;
}

RetractionRecord& BatchingScheduler::retraction() {
  if (!step_.retraction) step_.retraction.emplace();
  return *step_.retraction;
}

void BatchingScheduler::retract(Slot slot) {
  ActiveRequest& active = table_[slot];
  const std::int64_t pages = pages_held(slot);
  active.generated = known_generated(slot);
  RetractionRecord& record = retraction();
  ++record.requests;
  record.kv_tokens_freed += pages * kv_.page_tokens();
  record.recompute_tokens += active.request.input_tokens + active.generated;
  kv_.give_back(pages);
  running_.leave(slot);

  const auto awaiting = std::find(awaiting_token_.begin(), awaiting_token_.end(), slot);
  if (active.prefill_serial > completed_serial_) {
    forget_prefill_in_flight(slot);
  } else if (awaiting != awaiting_token_.end()) {
    awaiting_token_.erase(awaiting);
  } else {
    if (completed_decode_ > active.join_step) active.last_token = last_decode_end_;
    clock_.leave(active.last_token);
  }
  active.prefilled = 0;
  active.prefill_serial = -1;
  ++active.retractions;
}

// The token of its prefill will be thrown away when it arrives.
void BatchingScheduler::forget_prefill_in_flight(Slot slot) {
  std::vector<Slot>& prefilled = flight(flying_ - 1).prefilled;
  prefilled.erase(std::find(prefilled.begin(), prefilled.end(), slot));
}

std::int64_t BatchingScheduler::pages_held(Slot slot) const {
  const Request& request = table_[slot].request;
  return kv_.pages_for(options_.reserve_output ? request.input_tokens + request.max_new_tokens
                                               : running_.stored(slot));
}

// ---- results ----

const StepResult& BatchingScheduler::complete(SimTime end) {
  PLATEAU_CHECK(flying_ > 0, "a step completes that was never launched");
  result_.output_tokens = 0;
  result_.new_requests = 0;
  result_.gaps.clear();
  result_.finished.clear();
  const Flight& flight = this->flight(0);
  if (flight.decode) deliver_decode(flight, end);
  deliver_prefill(flight, end);
  completed_serial_ = flight.serial;
  first_flight_ = (first_flight_ + 1) % flights_.size();
  --flying_;
  return result_;
}

void BatchingScheduler::deliver_decode(const Flight& flight, SimTime end) {
  result_.output_tokens += clock_.tick(end, result_.gaps);
  for (const Slot slot : awaiting_token_) {
    deliver_token(table_[slot], end);
    clock_.join(end);
  }
  awaiting_token_.clear();
  completed_decode_ = flight.decode_step;
  last_decode_end_ = end;
  ending_.clear();
  running_.take_ending(flight.decode_step, ending_);
  for (const Slot slot : ending_) {
    clock_.leave(end);
    end_request(slot, end, false);
  }
}

void BatchingScheduler::deliver_prefill(const Flight& flight, SimTime end) {
  for (const Slot slot : flight.prefilled) {
    ActiveRequest& active = table_[slot];
    if (!options_.prefill_emits_token) {
      awaiting_token_.push_back(slot);
      continue;
    }
    deliver_token(active, end);
    if (running_.end_step(slot) == active.join_step) {
      end_request(slot, end, true);
    } else {
      clock_.join(end);
    }
  }
}

void BatchingScheduler::deliver_token(ActiveRequest& active, SimTime end) {
  ++result_.output_tokens;
  if (!active.has_token) {
    active.has_token = true;
    active.first_token = end;
    ++result_.new_requests;
  } else {
    result_.gaps.push_back({end - active.last_token, 1});
  }
  active.last_token = end;
}

void BatchingScheduler::end_request(Slot slot, SimTime end, bool by_prefill) {
  const ActiveRequest& active = table_[slot];
  RequestRecord record;
  record.id = active.request.id;
  record.sent = active.request.sent;
  record.first_token = active.first_token;
  record.finished = end;
  record.input_tokens = active.request.input_tokens;
  record.output_tokens = active.request.output_tokens;
  record.retractions = active.retractions;
  result_.finished.push_back(record);
  kv_.give_back(pages_held(slot));
  running_.leave(slot);
  request_ended(active, by_prefill);
  table_.release(slot);
}

}  // namespace plateau
