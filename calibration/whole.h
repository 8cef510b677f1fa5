// The whole part of a number that came out of a file.
//
// A log line may hold any digits where an id or a count is due; converting a double that an integer
// type cannot hold is undefined in C++. Here it becomes that type's edge, and NaN becomes 0.
#pragma once

#include <cstdint>
#include <limits>

namespace plateau {

template <class Integer = std::int64_t>
constexpr Integer whole(double value) {
  using Limits = std::numeric_limits<Integer>;
  // The largest integer may round up to a double that lies outside: hence >=.
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  return value == value ? static_cast<Integer>(value) : 0;
}

}  // namespace plateau
