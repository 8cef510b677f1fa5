// SGLang server logs of every era: decode, prefill and retraction lines and the facts of the
// start-up.
//
// Line forms (specification: the engine's own format strings; the eras are told apart by the
// lines):
//   [2025-12-12 08:43:59 TP0] Decode batch, #running-req: 6, #token: 1920, token usage: 0.94, ...
//   [2025-12-12 08:43:59 TP0] Prefill batch, #new-seq: 10, #new-token: 4096, ...
//   [..] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.1474 ->
//   0.1845
// Fields are a comma-separated list of `key: value`; unknown ones are kept as columns of their own.
// Of several TP ranks of one DP rank the lowest counts; the others go to <series>_other_ranks. A
// record that a terminal wrapped is put together again. "GB" of this engine is GiB.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "calibration/import/line_source.h"
#include "calibration/import/measurement.h"
#include "calibration/import/sglang_fields.h"

namespace plateau::imports {

// What stands before the message: time and ranks.
struct SglangPrefix {
  std::optional<double> local_s;
  std::optional<int> dp;
  std::optional<int> pp;
  std::optional<int> tp;
  std::string label() const;  // "DP0 TP3"
};
SglangPrefix sglang_prefix(std::string_view text);

// Facts of the start-up lines in `text`; the number of messages that gave one.
int read_sglang_startup(std::string_view text, const Line& line, const SglangPrefix& prefix,
                        Recorder& recorder);
// Position of the first start-up or retraction message, or kNowhere.
std::size_t find_sglang_message(std::string_view text);

// "Decode batch" or "Prefill batch" with the sign after it, from `from` on.
struct BatchPhrase {
  std::size_t at = 0;
  std::size_t body = 0;  // behind the phrase
  bool decode = false;
};
std::optional<BatchPhrase> find_batch_phrase(std::string_view text, std::size_t from);

class SglangLog {
 public:
  explicit SglangLog(Recorder& recorder);
  void line(const Line& line);
  void finish();

 private:
  struct Table {
    Series* series = nullptr;
    std::size_t time = 0;
    std::size_t dp = 0;
    std::size_t pp = 0;
    std::size_t tp = 0;
    // Keys in the order of the last record: the next one nearly always has the same.
    std::vector<std::pair<std::string, int>> layout;
    std::map<std::string, int, std::less<>> fields;
    std::vector<SglangField> known;  // by field; columns are made when first filled
    std::vector<std::optional<std::size_t>> columns;
    std::map<std::tuple<int, int, int>, std::string> last;  // per rank: the previous record's text
  };
  struct Pending {
    std::string text;  // from the start of the line's segment
    std::size_t body = 0;
    std::int64_t line = 0;
    bool decode = false;
    bool terminated = false;
    bool active = false;
    int joined = 0;
  };

  Table make_table(const char* name) const;
  bool continues(std::string_view text) const;
  bool splits_key(std::string_view text) const;
  bool join(const Line& line);
  void flush();
  void record(std::string_view text, std::size_t body, bool decode, std::int64_t line,
              bool terminated);
  void fields(Table& table, std::string_view body, bool decode, bool terminated);
  void field(Table& table, std::string_view key, std::string_view value, bool decode, bool last,
             bool terminated, std::size_t position);
  int field_of(Table& table, std::string_view key, std::size_t position);
  void other_line(const Line& line, std::string_view text);
  void retraction(std::string_view text, const Line& line, const SglangPrefix& prefix);
  bool retraction_known(const SglangPrefix& prefix, std::string_view values);
  void keep_one_rank(Table& table);
  void warn_of_several_servers();
  void prefer_fullest_gpu();
  void derive_pool();

  Recorder& recorder_;
  Table decode_;
  Table prefill_;
  Pending pending_;
  ClockWatch clock_;
  // By (dp, tp): the last events, time and values.
  std::map<std::pair<int, int>, std::deque<std::pair<double, std::string>>> retractions_;
  std::set<std::string> ranks_;
  std::set<std::string, std::less<>> unknown_;
  unsigned seen_ = 0;  // SglangFeature
  bool graph_seen_ = false;
};

}  // namespace plateau::imports
