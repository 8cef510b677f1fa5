// The part of an SGLang line before its message: "[2025-10-20 03:02:22 DP3 TP3 EP3]" in its
// variants.
#include <charconv>

#include "calibration/import/sglang_log.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

// The number behind `name` when it is a word of its own: " TP13]".
std::optional<int> rank_of(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != kNowhere; at = text.find(name, at + 1)) {
    if (at == 0 || (text[at - 1] != ' ' && text[at - 1] != '[')) continue;
    int value = 0;
    const char* begin = text.data() + at + name.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc() || value < 0) continue;
    if (end != text.data() + text.size() && *end != ' ' && *end != ']') continue;
    return value;
  }
  return std::nullopt;
}

// The last date and time in the text.
std::optional<double> time_in(std::string_view text, std::size_t& behind) {
  std::optional<double> found;
  for (std::size_t at = 0; at + 19 <= text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9' || text[at + 4] != '-') continue;
    const std::optional<Leading> time = leading_date_time(text.substr(at));
    if (!time) continue;
    found = time->value;
    at += time->length - 1;
    behind = at + 1;
  }
  return found;
}

}  // namespace

std::string SglangPrefix::label() const {
  std::string text;
  const auto add = [&](const char* name, const std::optional<int>& rank) {
    if (rank) text += (text.empty() ? "" : " ") + (name + std::to_string(*rank));
  };
  add("DP", dp);
  add("PP", pp);
  add("TP", tp);
  return text;
}

SglangPrefix sglang_prefix(std::string_view text) {
  SglangPrefix prefix;
  std::size_t behind = 0;
  prefix.local_s = time_in(text, behind);
  const std::string_view ranks = text.substr(behind);
  prefix.dp = rank_of(ranks, "DP");
  prefix.pp = rank_of(ranks, "PP");
  prefix.tp = rank_of(ranks, "TP");
  return prefix;
}

std::optional<BatchPhrase> find_batch_phrase(std::string_view text, std::size_t from) {
  constexpr std::string_view kBatch = " batch";
  for (std::size_t at = find_text(text, kBatch, from); at != kNowhere;
       at = find_text(text, kBatch, at + 1)) {
    const std::size_t body = at + kBatch.size();
    const bool decode = at >= 6 && text.substr(at - 6, 6) == "Decode";
    const bool prefill = at >= 7 && text.substr(at - 7, 7) == "Prefill";
    if (!decode && !prefill) continue;
    if (body >= text.size()) return BatchPhrase{at - (decode ? 6 : 7), body, decode};
    if (text[body] == '.' || text[body] == ',' || text.substr(body, 2) == " [") {
      return BatchPhrase{at - (decode ? 6 : 7), body, decode};
    }
  }
  return std::nullopt;
}

}  // namespace plateau::imports
