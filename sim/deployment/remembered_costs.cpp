#include "sim/deployment/remembered_costs.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace plateau {

namespace {

// Every field that a price may depend on: all but `count`, `part` and `label`, which say how often
// and under which name a call appears. A new field of OpCall must come in here.
struct Words {
  std::array<double, 19> values;
  std::array<std::int64_t, 3> kinds;
};
static_assert(sizeof(OpCall) == 2 * sizeof(const char*) + 176,
              "OpCall has changed: bring Words up to date");

Words words_of(const OpCall& c) {
  return {{c.kernels, c.m, c.n, c.k, c.sequences, c.new_tokens, c.context_tokens, c.query_heads,
           c.kv_heads, c.head_dim, c.window_tokens, c.sparse_tokens, c.hidden, c.inter, c.experts,
           c.top_k, c.active_experts, c.rows_max_over_mean, c.bytes},
          {static_cast<std::int64_t>(c.op), static_cast<std::int64_t>(c.weights), c.ranks}};
}

bool same(const Words& a, const Words& b) {
  return a.kinds == b.kinds && std::memcmp(&a.values, &b.values, sizeof a.values) == 0;
}

std::size_t slot_of(const Words& words) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 29;
  };
  for (const double value : words.values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (bits != 0) mix(bits);
  }
  for (const std::int64_t kind : words.kinds) mix(static_cast<std::uint64_t>(kind));
  return static_cast<std::size_t>(hash >> 20) % RememberedCosts::kSlots;
}

}  // namespace

struct RememberedCosts::Slot {
  Words words{};
  OpCost price;
  bool used = false;
};

RememberedCosts::RememberedCosts(std::shared_ptr<const Profile> profile)
    : profile_(std::move(profile)), slots_(std::make_unique<Slot[]>(kSlots)) {}
RememberedCosts::~RememberedCosts() = default;

OpCost RememberedCosts::cost(const OpCall& call) const {
  const Words words = words_of(call);
  Slot& slot = slots_[slot_of(words)];
  if (slot.used && same(slot.words, words)) return slot.price;
  const OpCost price = profile_->cost(call);  // may throw: the slot keeps what it has
  slot = Slot{words, price, true};
  return price;
}

}  // namespace plateau
