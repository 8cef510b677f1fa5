#include "calibration/scatter_surface.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

using namespace plateau;

namespace {

// A roofline-like truth over (m, width): floor + work, with a mild bend.
double truth(double m, double width) { return 3e-6 + m * width * 1e-12 * (1 + 0.1 * std::log(m)); }

ScatterSurface grid() {
  std::vector<ScatterSurface::Point> points;
  for (double m = 1; m <= 4096; m *= 2) {
    for (const double width : {1024.0, 4096.0}) {
      points.push_back({{std::log(m), std::log(width)}, 3e-6 + m * width * 1e-12, truth(m, width)});
    }
  }
  return ScatterSurface(points);
}

ScatterSurface::Answer ask(const ScatterSurface& surface, double m, double width) {
  const double features[] = {std::log(m), std::log(width)};
  return surface.at(features, 3e-6 + m * width * 1e-12);
}

}  // namespace

TEST_CASE("a scatter surface is exact at its points and says so") {
  const ScatterSurface surface = grid();
  const auto answer = ask(surface, 64, 4096);
  CHECK(answer.value == doctest::Approx(truth(64, 4096)).epsilon(2e-4));
  CHECK(answer.source == Source::measured);
}

TEST_CASE("a scatter surface interpolates inside and holds the edge's utilisation outside") {
  const ScatterSurface surface = grid();
  const auto inside = ask(surface, 48, 2048);
  CHECK(inside.source == Source::interpolated);
  CHECK(inside.value == doctest::Approx(truth(48, 2048)).epsilon(0.01));
  const auto edge = ask(surface, 4096, 4096);
  const auto just_outside = ask(surface, 4097, 4096);
  CHECK(just_outside.source == Source::extrapolated);
  CHECK(just_outside.value == doctest::Approx(edge.value).epsilon(1e-3));
  const auto far = ask(surface, 40960, 4096);
  const double utilisation = truth(4096, 4096) / (3e-6 + 4096 * 4096e-12);
  CHECK(far.value == doctest::Approx((3e-6 + 40960 * 4096e-12) * utilisation).epsilon(1e-3));
}

TEST_CASE("a scatter surface averages repeated measurements of one shape") {
  std::vector<ScatterSurface::Point> points;
  for (double m = 1; m <= 64; m *= 2) {
    points.push_back({{std::log(m)}, 1, 1});
    points.push_back({{std::log(m)}, 1, 1.1});
  }
  const double features[] = {std::log(8.0)};
  const auto answer = ScatterSurface(points).at(features, 1);
  CHECK(answer.value > 1.04);
  CHECK(answer.value < 1.06);
}

TEST_CASE("a scatter surface refuses values that are not positive") {
  CHECK_THROWS_AS(ScatterSurface({{{0.0}, 1, 0}}), std::invalid_argument);
  CHECK_THROWS_AS(ScatterSurface({{{0.0}, 1, 1}, {{0.0, 1.0}, 1, 1}}), std::invalid_argument);
}
