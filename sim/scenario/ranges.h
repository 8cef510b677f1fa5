// Values to try, as written on the command line: `--vary key=a,b,c` and `--vary key=lo..hi:steps`.
//
// lo..hi:steps is that many points from lo to hi, both ends, evenly spaced: lo + (hi - lo) i /
// (steps - 1). When both ends are whole numbers the points are rounded (halves away from zero) and
// duplicates dropped. A unit may stand behind either end or both (400..600 W:5). Ranges and single
// values may be mixed: 1,2,4..16:4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plateau {

struct Variation {
  std::string key;                  // "workload.concurrency"
  std::vector<std::string> values;  // each fit for --set key=value
};

// A value that stands twice counts once, unless values are to be paired with those of other keys.
enum class Repeats : std::uint8_t { drop, keep };

// Throws InputError.
Variation parse_variation(std::string_view text, Repeats repeats = Repeats::drop);
std::vector<std::string> parse_values(std::string_view text, const std::string& key,
                                      Repeats repeats = Repeats::drop);

}  // namespace plateau
