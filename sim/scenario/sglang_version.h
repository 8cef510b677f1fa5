// Which rules an SGLang version follows.
//
// Two versions of the scheduler and memory rules were read in full:
//   era a  main of 2026-02-20 (8d789b5c3d), between releases 0.5.8 and 0.5.9
//   era b  main of 2026-07-20 (8905cbd42f), after release 0.5.15
// They differ in admission (b charges every admitted request one extra page), in
// max_running_requests and in the default memory fraction. A release older than 0.5.9 follows a,
// one from 0.5.15 on follows b; where between them each rule changed was not read, so a release in
// the gap takes the nearer era and says so (`era_assumed`), as does one older than 0.5.0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/sglang_era.h"

namespace plateau {

struct SglangVersion {
  SglangEra era = SglangEra::a;
  bool era_assumed = false;
  // --num-continuous-decode-steps did something in releases 0.3.4 to 0.3.5.post2 only; from 0.3.6
  // on the flag is parsed and read by nothing.
  bool honours_continuous_decode_steps = false;
};

// "2026-02" and the like (a month: before 2026-05 is a) or a release "0.5.8", "v0.3.5.post2",
// "0.5.0rc2". Nothing for other text.
std::optional<SglangVersion> parse_sglang_version(std::string_view version);

// The era of a version that a scenario has accepted; era a for text that is none.
SglangEra era_of(std::string_view version);

}  // namespace plateau
