// The grouped books against plain loops over the requests: look-ahead admission, pages of a step.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "sim/serving/look_ahead.h"
#include "sim/serving/running_batch.h"

using namespace plateau;

namespace {

struct State {
  std::int64_t left = 0;
  std::int64_t held = 0;
};

// The rule as it reads: every request, one by one.
bool admits_by_loop(std::vector<State> states, State candidate, std::int64_t current) {
  states.push_back(candidate);
  states.erase(std::remove_if(states.begin(), states.end(),
                              [](const State& state) { return state.left <= 0; }),
               states.end());
  std::stable_sort(states.begin(), states.end(),
                   [](const State& a, const State& b) { return a.left < b.left; });
  std::int64_t freed = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto bs = static_cast<std::int64_t>(states.size() - i);
    if (current + freed - states[i].left * bs <= bs) return false;
    freed += states[i].held;
  }
  return true;
}

State draw_state() {
  return {*rc::gen::inRange<std::int64_t>(-1, 12), *rc::gen::inRange<std::int64_t>(1, 40)};
}

}  // namespace

TEST_CASE("the grouped look-ahead decides as the loop over all requests") {
  CHECK(rc::check("look-ahead", [] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 30);
    std::vector<State> states;
    LookAhead grouped;
    for (std::size_t i = 0; i < count; ++i) {
      states.push_back(draw_state());
      grouped.add(states.back().left, 1, states.back().held);
    }
    // One that leaves again, as those prefilled right now are moved.
    const State moved = draw_state();
    grouped.add(moved.left, 1, moved.held);
    grouped.remove(moved.left, moved.held);
    const State candidate = draw_state();
    // The decision turns at some number of free tokens: probe on both sides of it.
    std::int64_t turn = 0;
    while (turn < 1000 && !admits_by_loop(states, candidate, turn)) ++turn;
    for (const std::int64_t current : {turn - 2, turn - 1, turn, turn + 1}) {
      RC_ASSERT(grouped.admits(candidate.left, candidate.held, current) ==
                admits_by_loop(states, candidate, current));
    }
  }));
}

TEST_CASE("the running batch knows pages, contexts and endings as a loop over it does") {
  CHECK(rc::check("running batch", [] {
    const auto page = *rc::gen::element<std::int64_t>(1, 2, 5, 16);
    const bool emits = *rc::gen::arbitrary<bool>();
    RequestTable table;
    RunningBatch batch(table, page, emits);
    struct Naive {
      Slot slot;
      std::int64_t generated;
      std::int64_t stored;
    };
    std::vector<Naive> naive;
    const auto actions = *rc::gen::inRange(1, 120);
    for (int action = 0; action < actions; ++action) {
      const int kind = *rc::gen::inRange(0, 10);
      if (kind < 3) {  // one joins, perhaps after a retraction
        Request request;
        request.input_tokens = *rc::gen::inRange<std::int64_t>(1, 40);
        request.output_tokens = *rc::gen::inRange<std::int64_t>(2, 20);
        request.max_new_tokens = request.output_tokens + *rc::gen::inRange<std::int64_t>(0, 3);
        const auto generated = *rc::gen::inRange<std::int64_t>(emits ? 1 : 0, 2);
        const Slot slot = table.add(request);
        batch.join(slot, generated);
        naive.push_back({slot, generated, request.input_tokens + generated - (emits ? 1 : 0)});
      } else if (kind == 3 && !naive.empty()) {  // one is retracted
        const auto at = *rc::gen::inRange<std::size_t>(0, naive.size());
        batch.leave(naive[at].slot);
        table.release(naive[at].slot);
        naive.erase(naive.begin() + static_cast<std::ptrdiff_t>(at));
      } else {  // a step, after which some end
        batch.step();
        std::vector<Slot> expected;
        for (Naive& one : naive) {
          ++one.generated;
          ++one.stored;
          if (one.generated == table[one.slot].request.output_tokens) expected.push_back(one.slot);
        }
        std::vector<Slot> ended;
        batch.take_ending(batch.steps(), ended);
        RC_ASSERT(ended == expected);  // in order of joining
        for (const Slot slot : ended) {
          batch.leave(slot);
          table.release(slot);
          naive.erase(std::find_if(naive.begin(), naive.end(),
                                   [&](const Naive& one) { return one.slot == slot; }));
        }
      }
      std::int64_t need = 0;
      std::int64_t context = 0;
      std::int64_t limit_sum = 0;
      std::int64_t held = 0;
      std::vector<Slot> order;
      for (const Naive& one : naive) {
        const Request& request = table[one.slot].request;
        need += one.stored % page == 0 ? 1 : 0;
        context += one.stored;
        limit_sum += request.max_new_tokens - one.generated;
        held += request.input_tokens + one.generated;
        order.push_back(one.slot);
        RC_ASSERT(batch.stored(one.slot) == one.stored);
        RC_ASSERT(batch.generated(one.slot) == one.generated);
      }
      RC_ASSERT(batch.size() == static_cast<std::int64_t>(naive.size()));
      RC_ASSERT(batch.pages_needed() == need);
      RC_ASSERT(batch.context_tokens() == context);
      RC_ASSERT(batch.limit_step_sum() - batch.size() * batch.steps() == limit_sum);
      RC_ASSERT(batch.slots() == order);
      std::int64_t grouped_held = 0;
      std::int64_t grouped_count = 0;
      for (const LimitGroup& group : batch.limit_groups()) {
        grouped_held += group.offset + group.count * batch.steps();
        grouped_count += group.count;
      }
      RC_ASSERT(grouped_held == held);
      RC_ASSERT(grouped_count == batch.size());
    }
  }));
}
