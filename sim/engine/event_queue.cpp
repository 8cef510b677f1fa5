#include "sim/engine/event_queue.h"

#include <algorithm>

#include "sim/engine/check.h"

namespace plateau {

namespace {

bool later(const Event& a, const Event& b) {
  return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
}

}  // namespace

const char* name_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::arrival:
      return "arrival";
    case Event::Kind::schedule:
      return "schedule";
    case Event::Kind::step_start:
      return "step_start";
    case Event::Kind::step_end:
      return "step_end";
  }
  return "?";
}

void EventQueue::push(SimTime time, Event::Kind kind, const Request& request, std::size_t replica) {
  heap_.push_back({kind, time, pushed_++, replica, request});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

Event EventQueue::pop() {
  PLATEAU_CHECK(!heap_.empty(), "no event left");
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Event event = heap_.back();
  heap_.pop_back();
  return event;
}

}  // namespace plateau
