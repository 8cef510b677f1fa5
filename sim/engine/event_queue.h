// What happens next in simulated time. Events leave in the order (time, sequence of pushing): those
// of one instant keep the order in which they were caused, on every machine. A binary heap: O(log
// events) each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/sim_time.h"
#include "sim/serving/request.h"

namespace plateau {

struct Event {
  enum class Kind : std::uint8_t {
    arrival,     // a request reaches the engine
    schedule,    // the engine's host looks at its queue with nothing prepared for the GPU
    step_start,  // the GPU starts the prepared step
    step_end,    // the GPU is done with it
  };
  Kind kind = Kind::arrival;
  SimTime time{};
  std::uint64_t sequence = 0;
  std::size_t replica = 0;  // whose; of an arrival it is chosen when it happens
  Request request;          // arrival only
};

const char* name_of(Event::Kind kind);

class EventQueue {
 public:
  void push(SimTime time, Event::Kind kind, const Request& request = {}, std::size_t replica = 0);
  Event pop();  // the earliest; not empty
  bool empty() const { return heap_.empty(); }

 private:
  std::vector<Event> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace plateau
