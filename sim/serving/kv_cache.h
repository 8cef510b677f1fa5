// The pool of KV memory, in pages: who holds how many is the schedulers' knowledge, the pool only
// counts.
//
// A request of n stored tokens holds ceil(n / page) pages. The pool is floored to whole pages, as
// the engines do.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine/check.h"

namespace plateau {

class KvCache {
 public:
  KvCache(std::int64_t pool_tokens, int page_tokens)
      : page_(page_tokens), pages_(page_tokens > 0 ? pool_tokens / page_tokens : 0), free_(pages_) {
    PLATEAU_CHECK(page_tokens >= 1 && pages_ >= 1, "the KV pool holds less than one page");
  }

  std::int64_t pages_for(std::int64_t tokens) const { return (tokens + page_ - 1) / page_; }
  // Tokens rounded up to whole pages.
  std::int64_t page_ceil(std::int64_t tokens) const { return pages_for(tokens) * page_; }
  std::int64_t page_floor(std::int64_t tokens) const { return tokens / page_ * page_; }

  std::int64_t page_tokens() const { return page_; }
  std::int64_t capacity_pages() const { return pages_; }
  std::int64_t capacity_tokens() const { return pages_ * page_; }
  std::int64_t free_pages() const { return free_; }
  std::int64_t free_tokens() const { return free_ * page_; }
  std::int64_t used_tokens() const { return (pages_ - free_) * page_; }
  std::int64_t peak_used_tokens() const { return peak_ * page_; }

  void take(std::int64_t pages) {
    PLATEAU_CHECK(pages >= 0 && pages <= free_, "KV over capacity");
    free_ -= pages;
    peak_ = std::max(peak_, pages_ - free_);
  }
  void give_back(std::int64_t pages) {
    PLATEAU_CHECK(pages >= 0 && pages <= pages_ - free_, "KV freed twice");
    free_ += pages;
  }

 private:
  std::int64_t page_;
  std::int64_t pages_;
  std::int64_t free_;
  std::int64_t peak_ = 0;
};

}  // namespace plateau
