#include "sim/scenario/sglang_version.h"

#include <array>

namespace plateau {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a number of at most `digits` digits off the front.
std::optional<int> take_number(std::string_view* text, std::size_t digits) {
  int value = 0;
  std::size_t used = 0;
  while (used < text->size() && used < digits && is_digit((*text)[used])) {
    value = value * 10 + ((*text)[used++] - '0');
  }
  if (used == 0) return std::nullopt;
  text->remove_prefix(used);
  return value;
}

bool take(std::string_view* text, std::string_view word) {
  if (text->substr(0, word.size()) != word) return false;
  text->remove_prefix(word.size());
  return true;
}

std::optional<SglangVersion> parse_month(std::string_view text) {
  if (text.size() != 7 || text[4] != '-') return std::nullopt;
  const auto year = take_number(&text, 4);
  if (!year || !take(&text, "-")) return std::nullopt;
  const auto month = take_number(&text, 2);
  if (!month || !text.empty() || *month < 1 || *month > 12 || *year < 2024) return std::nullopt;
  const int months = *year * 12 + *month - 1;
  constexpr int kReadA = 2026 * 12 + 1;  // 2026-02
  constexpr int kReadB = 2026 * 12 + 6;  // 2026-07
  SglangVersion version;
  version.era = months < kReadA + 3 ? SglangEra::a : SglangEra::b;
  version.era_assumed = months < kReadA - 6 || (months > kReadA && months < kReadB);
  version.honours_continuous_decode_steps = months == 2024 * 12 + 9;  // 2024-10: 0.3.4 to 0.3.5
  return version;
}

using Release = std::array<int, 3>;

SglangVersion rules_of(const Release& release) {
  SglangVersion version;
  version.era = release < Release{0, 5, 12} ? SglangEra::a : SglangEra::b;
  version.era_assumed =
      release < Release{0, 5, 0} || (release > Release{0, 5, 9} && release < Release{0, 5, 15});
  version.honours_continuous_decode_steps =
      release >= Release{0, 3, 4} && release < Release{0, 3, 6};
  return version;
}

}  // namespace

std::optional<SglangVersion> parse_sglang_version(std::string_view text) {
  if (const auto month = parse_month(text)) return month;
  take(&text, "v");
  Release release{};
  for (std::size_t i = 0; i < release.size(); ++i) {
    if (i > 0 && !take(&text, ".")) return std::nullopt;
    const auto number = take_number(&text, 4);
    if (!number) return std::nullopt;
    release[i] = *number;
  }
  for (const char* suffix : {".post", "rc"}) {
    if (take(&text, suffix) && !take_number(&text, 3)) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return rules_of(release);
}

SglangEra era_of(std::string_view text) {
  const auto version = parse_sglang_version(text);
  return version ? version->era : SglangEra::a;
}

}  // namespace plateau
