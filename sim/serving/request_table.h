// The requests inside the engine, waiting and running, in reusable slots: memory follows their
// number at one time, not the number served.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/check.h"
#include "sim/serving/request.h"

namespace plateau {

using Slot = std::int32_t;
inline constexpr Slot kNoSlot = -1;

struct ActiveRequest {
  Request request;
  SimTime first_token{};
  SimTime last_token{};  // exact until the first decode step after its prefill, and while it waits
  bool has_token = false;  // the client has received at least one
  int retractions = 0;
  std::int64_t generated = 0;        // delivered before the current admission
  std::int64_t prefilled = 0;        // KV tokens that its prefill has written so far
  std::int64_t prefill_serial = -1;  // the step that ends its prefill; -1: none yet

  // Kept by RunningBatch while it runs.
  std::int64_t birth = 0;      // step counter - generated tokens: constant while it runs
  std::int64_t join_step = 0;  // step counter when it joined
  bool in_bucket = false;
  Slot previous = kNoSlot;  // in order of joining
  Slot next = kNoSlot;
  Slot bucket_previous = kNoSlot;  // among those that end at the same step
  Slot bucket_next = kNoSlot;
};

class RequestTable {
 public:
  Slot add(const Request& request) {
    ActiveRequest active;
    active.request = request;
    ++size_;
    if (unused_.empty()) {
      slots_.push_back(active);
      return static_cast<Slot>(slots_.size() - 1);
    }
    const Slot slot = unused_.back();
    unused_.pop_back();
    slots_[static_cast<std::size_t>(slot)] = active;
    return slot;
  }
  void release(Slot slot) {
    PLATEAU_CHECK(size_ > 0, "a request ends twice");
    --size_;
    unused_.push_back(slot);
  }

  ActiveRequest& operator[](Slot slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const ActiveRequest& operator[](Slot slot) const {
    return slots_[static_cast<std::size_t>(slot)];
  }
  std::int64_t size() const { return size_; }
  std::size_t slots() const { return slots_.size(); }  // largest size so far

 private:
  std::vector<ActiveRequest> slots_;
  std::vector<Slot> unused_;
  std::int64_t size_ = 0;
};

}  // namespace plateau
