#include "sim/scenario/sglang_version.h"

#include <doctest/doctest.h>

using plateau::era_of;
using plateau::parse_sglang_version;
using plateau::SglangEra;

TEST_CASE("an SGLang version names its era") {
  CHECK(era_of("2026-02") == SglangEra::a);
  CHECK(era_of("2026-07") == SglangEra::b);
  CHECK(era_of("0.5.8") == SglangEra::a);
  CHECK(era_of("v0.5.8.post1") == SglangEra::a);
  CHECK(era_of("0.5.15") == SglangEra::b);
  CHECK(era_of("0.3.5") == SglangEra::a);
}

TEST_CASE("an SGLang version whose rules were not read says that its era is assumed") {
  CHECK_FALSE(parse_sglang_version("2026-02")->era_assumed);
  CHECK_FALSE(parse_sglang_version("2026-07")->era_assumed);
  CHECK_FALSE(parse_sglang_version("0.5.8")->era_assumed);
  CHECK(parse_sglang_version("0.5.10")->era_assumed);
  CHECK(parse_sglang_version("0.5.14")->era_assumed);
  CHECK(parse_sglang_version("2026-05")->era_assumed);
  CHECK(parse_sglang_version("0.3.5")->era_assumed);
}

TEST_CASE("continuous decode steps are honoured from 0.3.4 to 0.3.5.post2 only") {
  const auto honours = [](const char* version) {
    return parse_sglang_version(version)->honours_continuous_decode_steps;
  };
  CHECK_FALSE(honours("0.3.3"));
  CHECK(honours("0.3.4"));
  CHECK(honours("0.3.5.post2"));
  CHECK_FALSE(honours("0.3.6"));
  CHECK_FALSE(honours("0.5.0rc2"));
  CHECK_FALSE(honours("2026-02"));
}

TEST_CASE("text that is no SGLang version is refused") {
  for (const char* text :
       {"", "0.5", "latest", "0.5.8-dev", "2026-13", "2026-2", "0.5.x", "0.5.8.post"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_sglang_version(text));
  }
}
