// The end of an SGLang log: one rank per scheduler, several servers, a pool that no line states.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "calibration/import/sglang_log.h"
#include "calibration/import/token.h"
#include "calibration/whole.h"

namespace plateau::imports {

void SglangLog::finish() {
  flush();
  clock_.finish(recorder_);
  keep_one_rank(decode_);
  keep_one_rank(prefill_);
  warn_of_several_servers();
  prefer_fullest_gpu();
  ranks_.erase("");
  recorder_.report().gpus = static_cast<int>(ranks_.size());
  recorder_.report().era = sglang_era(seen_);
  derive_pool();
  for (const std::string& key : unknown_) {
    recorder_.warn(0, "unknown field '" + key + "' is kept as column " + column_name(key));
  }
}

void SglangLog::keep_one_rank(Table& table) {
  std::map<int, std::pair<int, int>> lowest;  // dp -> (pp, tp)
  for (const auto& [rank, text] : table.last) {
    const auto [dp, pp, tp] = rank;
    const auto found = lowest.try_emplace(dp, pp, tp).first;
    found->second = std::min(found->second, {pp, tp});
  }
  if (lowest.size() == table.last.size()) return;
  std::int64_t first_line = 0;
  const int file = recorder_.file();
  const auto cell = [](const Series::Row& row, std::size_t column) {
    return whole<int>(row.number(column).value_or(-1));
  };
  Series& others = recorder_.series(table.series->name() + "_other_ranks");
  const std::int64_t before = others.rows();
  table.series->split(
      [&](const Series::Row& row) {
        if (row.file != file) return false;
        const auto kept = lowest.find(cell(row, table.dp));
        const std::pair<int, int> rank{cell(row, table.pp), cell(row, table.tp)};
        if (kept == lowest.end() || kept->second == rank) return false;
        if (first_line == 0) first_line = row.line;
        return true;
      },
      others);
  const std::int64_t moved = others.rows() - before;
  if (moved == 0) return;
  recorder_.report().rows -= moved;
  recorder_.ignore(
      table.series->name() + " records of further TP or PP ranks of the same scheduler", first_line,
      moved);
  recorder_.warn(first_line,
                 "several TP or PP ranks of one scheduler report the same batches: the "
                 "lowest rank is kept, the others stand in '" +
                     others.name() + "'");
}

// A scheduler sums up its pool once; ranks of one server differ by a little.
void SglangLog::warn_of_several_servers() {
  std::map<std::string, const Fact*> of_rank;
  const Fact* first = nullptr;
  const auto mine = [&](const Fact& fact) {
    return fact.file == recorder_.file() && fact.name == "kv_capacity_tokens";
  };
  const std::vector<Fact>& facts = recorder_.measurement().facts;
  const bool summed_up = std::any_of(
      facts.begin(), facts.end(), [&](const Fact& fact) { return mine(fact) && fact.preferred; });
  for (const Fact& fact : facts) {
    if (!mine(fact) || fact.preferred != summed_up) continue;
    if (first == nullptr) first = &fact;
    const Fact* same_rank = of_rank.try_emplace(fact.rank, &fact).first->second;
    constexpr double kRanksMayDiffer = 0.2;
    const double difference = std::abs(*fact.number - *first->number);
    if (*same_rank->number == *fact.number && difference <= kRanksMayDiffer * *first->number)
      continue;
    const auto tokens = [](const Fact& of) { return std::to_string(whole(*of.number)); };
    return recorder_.warn(fact.line,
                          "another pool size (" + tokens(fact) + " tokens; line " +
                              std::to_string(first->line) + " says " + tokens(*first) +
                              "): two servers in one log; the facts are those of the first, split "
                              "the log here to get the other");
  }
}

// Free memory is each rank's own, and the pool is sized by the fullest GPU's: of one start-up the
// lowest value is the fact. A rank that speaks again belongs to the next start-up.
void SglangLog::prefer_fullest_gpu() {
  for (const char* name : {"free_memory_before_weights_gib", "free_memory_after_weights_gib"}) {
    std::set<std::string> ranks;
    Fact* lowest = nullptr;
    for (Fact& fact : recorder_.measurement().facts) {
      if (fact.file != recorder_.file() || fact.name != name) continue;
      if (!ranks.insert(fact.rank).second) break;
      if (lowest == nullptr || *fact.number < *lowest->number) lowest = &fact;
    }
    if (ranks.size() > 1) lowest->preferred = true;
  }
}

// Without a start-up line, used tokens over their share (two decimals) bracket the pool.
void SglangLog::derive_pool() {
  const Series& decode = *decode_.series;
  const auto tokens = decode.find("kv_used_tokens");
  const auto share = decode.find("kv_usage_share");
  const auto running = decode.find("running_requests");
  if (!tokens || !share || !running) return;
  constexpr double kHalfDigit = 0.005;
  double low = 0;
  double high = 0;
  double best_share = 0;
  double value = 0;
  std::int64_t blind_line = 0;
  decode.for_each([&](const Series::Row& row) {
    if (row.file != recorder_.file()) return;
    const double used = row.number(*tokens).value_or(0);
    const double of_pool = row.number(*share).value_or(0);
    if (used == 0 && row.number(*running).value_or(0) > 0 && blind_line == 0) blind_line = row.line;
    // The fullest pool is known best.
    if (used <= 0 || of_pool <= best_share) return;
    best_share = of_pool;
    value = used / of_pool;
    low = used / (of_pool + kHalfDigit);
    high = of_pool > kHalfDigit ? used / (of_pool - kHalfDigit) : value;
  });
  if (blind_line > 0) {
    recorder_.warn(blind_line,
                   "requests run while #token is 0: this mode (disaggregation) does not log "
                   "the use of its pool");
  }
  const std::vector<Fact>& facts = recorder_.measurement().facts;
  const bool stated = std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    return fact.file == recorder_.file() && fact.name == "kv_capacity_tokens";
  });
  if (best_share <= 0 || stated) return;
  recorder_.derive({"kv_capacity_tokens", value, low, high,
                    "used tokens over their share of the pool, of the fullest decode line"});
}

}  // namespace plateau::imports
