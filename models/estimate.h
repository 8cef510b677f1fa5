// A number that knows where it comes from.
//
// Every predicted quantity carries a band and the weakest source that went into it, so that a
// report can say how far to trust it. A sum takes the weakest source of its terms and adds the
// bands linearly: the errors of one table are correlated, so adding in quadrature would promise too
// much.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plateau {

// Strongest first: the order is used to find the weakest.
enum class Source : std::uint8_t { measured, interpolated, extrapolated, roofline, assumed };
inline constexpr int kSources = 5;

const char* name_of(Source source);

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Source source = Source::measured;

  // value with a symmetric relative band: low = value*(1-band), high = value*(1+band).
  static Estimate within(double value, double band, Source source) {
    return {value, value * (1 - band), value * (1 + band), source};
  }
};

inline Estimate operator+(const Estimate& a, const Estimate& b) {
  return {a.value + b.value, a.low + b.low, a.high + b.high, std::max(a.source, b.source)};
}
inline Estimate operator*(const Estimate& a, double factor) {
  return {a.value * factor, a.low * factor, a.high * factor, a.source};
}

}  // namespace plateau
