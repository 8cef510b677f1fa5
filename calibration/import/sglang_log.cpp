#include "calibration/import/sglang_log.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

std::string without_blanks(std::string_view text) {
  std::string result(text);
  result.erase(std::remove(result.begin(), result.end(), ' '), result.end());
  return result;
}

bool all_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == kNowhere;
}

}  // namespace

SglangLog::SglangLog(Recorder& recorder)
    : recorder_(recorder), decode_(make_table("decode")), prefill_(make_table("prefill")) {
  const auto add = [](Table& table, const SglangField& field) {
    const int index = static_cast<int>(table.known.size());
    table.known.push_back(field);
    table.fields.emplace(field.key, index);
    table.fields.emplace(without_blanks(field.key), index);  // a wrap can swallow a blank
  };
  for (const SglangField& field : sglang_decode_fields()) add(decode_, field);
  for (const SglangField& field : sglang_prefill_fields()) add(prefill_, field);
  decode_.columns.resize(decode_.known.size());
  prefill_.columns.resize(prefill_.known.size());
}

SglangLog::Table SglangLog::make_table(const char* name) const {
  Table table;
  table.series = &recorder_.series(name);
  table.time = table.series->column("local_s");
  table.dp = table.series->column("dp_rank");
  table.pp = table.series->column("pp_rank");
  table.tp = table.series->column("tp_rank");
  return table;
}

void SglangLog::line(const Line& line) {
  if (pending_.active) {
    if (join(line)) return;
    flush();
  }
  std::size_t start = 0;
  std::optional<BatchPhrase> phrase = find_batch_phrase(line.text, 0);
  if (!phrase) return other_line(line, line.text);
  while (phrase) {
    const std::optional<BatchPhrase> next = find_batch_phrase(line.text, phrase->body);
    std::size_t end = line.text.size();
    if (next) {
      const std::size_t bracket = line.text.rfind('[', next->at);
      end = bracket != kNowhere && bracket > phrase->body ? bracket : next->at;
      record(line.text.substr(start, end - start), phrase->body - start, phrase->decode,
             line.number, false);
    } else {
      pending_.text.assign(line.text.substr(start));
      pending_.body = phrase->body - start;
      pending_.line = line.number;
      pending_.decode = phrase->decode;
      pending_.terminated = line.terminated;
      pending_.active = true;
      pending_.joined = 0;
    }
    start = end;
    phrase = next;
  }
}

// A line that goes on with the record before it: no prefix, no message of its own, and either
// fields of a record or the rest of a number.
bool SglangLog::continues(std::string_view text) const {
  constexpr int kMostJoins = 8;
  constexpr std::size_t kLongest = 2000;
  if (text.empty() || text.size() > kLongest || pending_.joined >= kMostJoins) return false;
  if (text[0] == '[' || text[0] == '(' || leading_date_time(text)) return false;
  if (find_batch_phrase(text, 0) || find_sglang_message(text) != kNowhere) return false;
  if (contains(text, "Avg prompt throughput:")) return false;
  for (const char* mark : {", #", "token/s", "graph:", "usage:", "#queue-req:", "#running-req:"}) {
    if (contains(text, mark)) return true;
  }
  if (splits_key(text)) return true;
  return all_of(text, "0123456789.,):% ") && text.find_first_not_of(' ') != kNowhere;
}

// "..., #queue" and "-req: 5, ": the end of the record and the start of the line are one key.
bool SglangLog::splits_key(std::string_view text) const {
  const std::size_t colon = text.find(':');
  const std::size_t comma = pending_.text.rfind(',');
  if (colon == kNowhere || comma == kNowhere) return false;
  const std::string key = pending_.text.substr(comma + 1) + std::string(text.substr(0, colon));
  const Table& table = pending_.decode ? decode_ : prefill_;
  return table.fields.find(std::string(trimmed(key))) != table.fields.end();
}

bool SglangLog::join(const Line& line) {
  if (!continues(line.text)) return false;
  const bool digit_before = !pending_.text.empty() &&
                            (std::isdigit(static_cast<unsigned char>(pending_.text.back())) != 0);
  if (digit_before && all_of(line.text, "0123456789. ")) {
    // Either the rest of the number or a line of another program: the last value is not known.
    pending_.terminated = false;
    recorder_.ignore("a number that may be split over two lines", line.number);
    return true;
  }
  if (!pending_.text.empty() && pending_.text.back() == ',' && line.text[0] != ' ') {
    pending_.text += ' ';
  }
  pending_.text += line.text;
  pending_.terminated = line.terminated;
  ++pending_.joined;
  return true;
}

void SglangLog::flush() {
  if (!pending_.active) return;
  pending_.active = false;
  record(pending_.text, pending_.body, pending_.decode, pending_.line, pending_.terminated);
}

void SglangLog::record(std::string_view text, std::size_t body, bool decode, std::int64_t line,
                       bool terminated) {
  Table& table = decode ? decode_ : prefill_;
  const SglangPrefix prefix = sglang_prefix(text.substr(0, body));
  const auto rank =
      std::make_tuple(prefix.dp.value_or(-1), prefix.pp.value_or(-1), prefix.tp.value_or(-1));
  std::string& last = table.last[rank];
  // A cut last line repeats when what is left of it does.
  const bool repeats =
      terminated ? last == text : std::string_view(last).substr(0, text.size()) == text;
  if (prefix.local_s && repeats) {
    return recorder_.ignore("an exact repetition of the record before it (same rank, time, values)",
                            line);
  }
  if (last.empty()) ranks_.insert(prefix.label());
  last.assign(text);
  table.series->begin_row(recorder_.file(), line);
  graph_seen_ = false;
  fields(table, text.substr(body), decode, terminated);
  if (!table.series->row_has_cells()) {
    return recorder_.ignore("a record cut before its first value", line);
  }
  if (prefix.local_s) table.series->set(table.time, *prefix.local_s);
  if (prefix.dp) table.series->set(table.dp, *prefix.dp);
  if (prefix.pp) table.series->set(table.pp, *prefix.pp);
  if (prefix.tp) table.series->set(table.tp, *prefix.tp);
  table.series->end_row();
  recorder_.row();
  if (prefix.local_s) {
    clock_.see(*prefix.local_s, line);
    recorder_.time(Clock::local, *prefix.local_s);
  }
}

void SglangLog::fields(Table& table, std::string_view body, bool decode, bool terminated) {
  std::size_t at = 0;
  if (body.substr(0, 2) == " [") {  // forward counter
    const std::size_t close = body.find(']');
    if (close == kNowhere) return;
    if (const auto pass = number(body.substr(2, close - 2))) {
      table.series->set(table.series->column("forward_pass"), *pass);
    }
    at = close + 1;
  }
  if (at < body.size()) seen_ |= body[at] == '.' ? kFullStop : kComma;
  ++at;
  std::size_t position = 0;
  while (at < body.size()) {
    const std::size_t comma = std::min(body.find(',', at), body.size());
    const std::string_view item = trimmed(body.substr(at, comma - at));
    const std::size_t colon = item.find(':');
    if (colon != kNowhere) {
      field(table, trimmed(item.substr(0, colon)), trimmed(item.substr(colon + 1)), decode,
            comma == body.size(), terminated, position++);
    } else if (item.empty() && comma == body.size() && decode) {
      seen_ |= kTrailingComma;
    }
    at = comma + 1;
  }
  if (!decode) return;
  if (trimmed(body).empty() || trimmed(body).back() == ',') seen_ |= kTrailingComma;
  seen_ |= graph_seen_ ? kDecodeGraph : kDecodeNoGraph;
}

void SglangLog::field(Table& table, std::string_view key, std::string_view value, bool decode,
                      bool last, bool terminated, std::size_t position) {
  const bool percent = !value.empty() && value.back() == '%';
  if (percent) value.remove_suffix(1);
  std::optional<double> read = number(value);
  if (!read && value == "True") read = 1;
  if (!read && value == "False") read = 0;
  if (!read) return;
  const int index = field_of(table, key, position);
  if (index < 0) return;
  const auto field = static_cast<std::size_t>(index);
  if (last && !percent && !(terminated && table.known[field].can_end)) return;
  if (last && decode && key == "#queue-req") seen_ |= kPlainEnd;
  if (key.size() == 10 && key.substr(key.size() - 5) == "graph") {
    graph_seen_ = true;
    if (!decode) seen_ |= kPrefillGraph;
  }
  if (key == "#pending-token") seen_ |= kPendingTokens;
  if (key.substr(0, 5) == "est. ") seen_ |= kEstimates;
  if (percent && key == "fwd occupancy") read = *read / 100;
  std::optional<std::size_t>& column = table.columns[field];
  if (!column) column = table.series->column(table.known[field].column);
  table.series->set(*column, *read);
}

// Index of the field, a new column for an unknown key, -1 for a key that is none.
int SglangLog::field_of(Table& table, std::string_view key, std::size_t position) {
  if (position < table.layout.size() && table.layout[position].first == key) {
    return table.layout[position].second;
  }
  auto found = table.fields.find(key);
  if (found == table.fields.end()) found = table.fields.find(without_blanks(key));
  if (found == table.fields.end()) {
    constexpr std::size_t kLongestKey = 64;
    constexpr std::size_t kMostUnknown = 64;
    const std::string column = column_name(key);
    if (column.empty() || key.size() > kLongestKey || unknown_.size() >= kMostUnknown) return -1;
    unknown_.insert(std::string(key));
    table.known.push_back({std::string(key), column, true});
    table.columns.emplace_back();
    found = table.fields.emplace(std::string(key), static_cast<int>(table.known.size()) - 1).first;
  }
  if (position >= table.layout.size()) table.layout.resize(position + 1, {"", -1});
  table.layout[position] = {std::string(key), found->second};
  return found->second;
}

void SglangLog::other_line(const Line& line, std::string_view text) {
  if (trimmed(text).empty()) return;
  const std::size_t message = find_sglang_message(text);
  if (message == kNowhere) {
    if (contains(text, "Avg prompt throughput:") || contains(text, "GPU KV cache size:")) {
      recorder_.fail(line.number, "a vLLM line in an SGLang log: two engines wrote to this file",
                     "split the file by engine and import the parts");
    }
    return recorder_.other_message(text, line.number);
  }
  const SglangPrefix prefix = sglang_prefix(text.substr(0, message));
  if (prefix.local_s) {
    clock_.see(*prefix.local_s, line.number);
    recorder_.time(Clock::local, *prefix.local_s);
  }
  if (contains(text, "#retracted_reqs:")) return retraction(text, line, prefix);
  const int messages = read_sglang_startup(text, line, prefix, recorder_);
  if (messages == 0) recorder_.ignore("start-up lines without a complete value", line.number);
  for (int i = 0; i < messages; ++i) recorder_.row();
  if (messages > 0) ranks_.insert(prefix.label());
}

// Every TP rank of a scheduler reports the same event: one time and the same values.
void SglangLog::retraction(std::string_view text, const Line& line, const SglangPrefix& prefix) {
  const std::size_t start = find_text(text, "#retracted_reqs:");
  if (contains(text, "Decode out of memory")) seen_ |= kOldRetraction;
  const std::string_view values = text.substr(start);
  if (prefix.tp && prefix.local_s && retraction_known(prefix, values)) {
    return recorder_.ignore("a retraction that another rank reported already", line.number);
  }
  Series& series = recorder_.series("retraction");
  const auto set = [&](const char* column, std::optional<double> value) {
    if (value) series.set(series.column(column), *value);
  };
  series.column("local_s");
  series.begin_row(recorder_.file(), line.number);
  set("retracted_requests", number_after(values, "#retracted_reqs: ", End::comma));
  set("aborted_requests", number_after(values, "#aborted_retracted_reqs: ", End::comma));
  set("gained_tokens", number_after(values, "#new_tokens_gained: ", End::comma));
  set("new_token_ratio_before", number_after(values, "#new_token_ratio: ", End::suffix, " -> "));
  set("new_token_ratio_after", number_after(values, "-> ", End::line_end, "", line.terminated));
  if (!series.row_has_cells()) {
    return recorder_.ignore("a record cut before its first value", line.number);
  }
  set("local_s", prefix.local_s);
  if (prefix.dp) set("dp_rank", *prefix.dp);
  if (prefix.tp) set("tp_rank", *prefix.tp);
  series.end_row();
  recorder_.row();
}

// Looks at the other TP ranks' last events: a cut last line is known when what is left of it is.
bool SglangLog::retraction_known(const SglangPrefix& prefix, std::string_view values) {
  constexpr std::size_t kRemembered = 16;
  const int dp = prefix.dp.value_or(-1);
  bool known = false;
  for (const auto& [rank, events] : retractions_) {
    if (rank.first != dp || rank.second == *prefix.tp) continue;
    for (const auto& [time, text] : events) {
      known = known || (time == *prefix.local_s &&
                        std::string_view(text).substr(0, values.size()) == values);
    }
  }
  auto& own = retractions_[{dp, *prefix.tp}];
  own.emplace_back(*prefix.local_s, values);
  if (own.size() > kRemembered) own.pop_front();
  return known;
}

}  // namespace plateau::imports
