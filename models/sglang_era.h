// Which of the two SGLang versions whose rules were read in full an engine follows:
//   a  main of 2026-02-20 (8d789b5c3d), between releases 0.5.8 and 0.5.9
//   b  main of 2026-07-20 (8905cbd42f), after release 0.5.15
#pragma once

#include <cstdint>

namespace plateau {

enum class SglangEra : std::uint8_t { a, b };

}  // namespace plateau
