#include "sim/report/kv_text.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/report/format.h"

namespace plateau {

namespace {

std::string whole(std::int64_t value) { return grouped(static_cast<double>(value)); }

}  // namespace

std::string kv_text(const KvReport& kv) {
  std::string text =
      fmt::format("{} tokens ({}), {} B a token on each GPU, pages of {}; {} used at most",
                  whole(kv.capacity_tokens), kv.source.empty() ? "source unknown" : kv.source,
                  grouped(kv.bytes_per_token_per_gpu), kv.page_tokens, whole(kv.peak_used_tokens));
  if (kv.capacity_tokens > 0) {
    text += fmt::format(" ({})", percent(static_cast<double>(kv.peak_used_tokens) /
                                         static_cast<double>(kv.capacity_tokens)));
  }
  if (kv.wall_requests) text += fmt::format("; admits {} requests", whole(*kv.wall_requests));
  if (kv.told_unexplained_bytes) {
    text += fmt::format("; the memory rule counts {} a GPU of unexplained memory ({}",
                        bytes_text(*kv.told_unexplained_bytes), kv.told_unexplained_source);
    if (const auto& range = kv.derived_tokens_range)
      text += fmt::format(": {} to {} tokens", grouped(range->low), grouped(range->high));
    text += ")";
  }
  if (kv.derived_tokens_spec_weights && kv.derived_tokens) {
    text +=
        fmt::format("; the memory rule gives {} tokens with the logged weights, {} with the spec's",
                    grouped(static_cast<double>(*kv.derived_tokens)),
                    grouped(static_cast<double>(*kv.derived_tokens_spec_weights)));
  }
  if (kv.unexplained_bytes && *kv.unexplained_bytes != 0) {
    const bool less = *kv.unexplained_bytes > 0;
    text += fmt::format("; {} a GPU {} than the memory arithmetic gives (unexplained)",
                        bytes_text(std::abs(*kv.unexplained_bytes)), less ? "less" : "more");
  }
  return text;
}

}  // namespace plateau
