#include "calibration/knot_grid.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "calibration/fit/fit_surface.h"

using namespace plateau;

namespace {

// 1 + 2x + 3y + 4xy on uneven knots: what a bilinear grid reproduces.
double bilinear(double x, double y) { return 1 + 2 * x + 3 * y + 4 * x * y; }

KnotGrid sample_grid() {
  const std::vector<double> xs = {0, 1, 4};
  const std::vector<double> ys = {-1, 0.5};
  std::vector<double> values;
  for (const double x : xs) {
    for (const double y : ys) values.push_back(bilinear(x, y));
  }
  return KnotGrid({xs, ys}, values);
}

}  // namespace

TEST_CASE("knot grid: values at knots and between them") {
  const KnotGrid grid = sample_grid();
  CHECK(grid.at({1, 0.5}).value == doctest::Approx(bilinear(1, 0.5)).epsilon(1e-14));
  CHECK(grid.at({0.25, 0}).value == doctest::Approx(bilinear(0.25, 0)).epsilon(1e-14));
  CHECK(grid.at({3, -0.3}).value == doctest::Approx(bilinear(3, -0.3)).epsilon(1e-14));
}

TEST_CASE("knot grid: at an edge, just inside and just outside") {
  const KnotGrid grid = sample_grid();
  CHECK(grid.at({4, 0}).beyond == 0);
  CHECK(grid.at({3.999, 0}).beyond == 0);
  CHECK(grid.at({4.001, 0}).beyond == doctest::Approx(0.001));
  CHECK(grid.at({4.001, 0}).value == grid.at({4, 0}).value);
  CHECK(grid.at({-2, -3}).beyond == doctest::Approx(2));
  CHECK(grid.at({-2, -3}).value == grid.at({0, -1}).value);
}

TEST_CASE("knot grid: one knot is a constant axis") {
  const KnotGrid grid({{2}, {0, 1}}, {5, 7});
  CHECK(grid.at({2, 0.5}).value == 6);
  CHECK(grid.at({3, 1}).value == 7);
  CHECK(grid.at({3, 1}).beyond == 1);
}

TEST_CASE("knot grid: refuses axes that do not ascend and values that do not fill it") {
  CHECK_THROWS_AS(KnotGrid({{0, 0}}, {1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(KnotGrid({{1, 0}}, {1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(KnotGrid({{0, 1}}, {1}), std::invalid_argument);
  CHECK_THROWS_AS(KnotGrid({{}}, {}), std::invalid_argument);
  CHECK_THROWS_AS(KnotGrid({}, {}), std::invalid_argument);
}

TEST_CASE("surface fit: reproduces what the grid can hold") {
  SurfaceOptions options;
  options.bend = 1e-9;
  options.slope = 1e-9;
  std::vector<SurfaceSample> samples;
  for (double x = 0; x <= 4; x += 0.5) {
    for (double y = -1; y <= 0.5; y += 0.25) samples.push_back({{x, y}, bilinear(x, y)});
  }
  const KnotGrid fitted = fit_surface({{0, 1, 4}, {-1, 0.5}}, samples, options);
  CHECK(fitted.at({0.3, 0.1}).value == doctest::Approx(bilinear(0.3, 0.1)).epsilon(1e-6));
  CHECK(fitted.at({3.3, -0.9}).value == doctest::Approx(bilinear(3.3, -0.9)).epsilon(1e-6));
}

TEST_CASE("surface fit: an outlier does not bend it, a hole in the data stays level") {
  std::vector<SurfaceSample> samples;
  for (int i = 0; i <= 20; ++i) samples.push_back({{i * 0.1}, 1.0});
  samples.push_back({{1.0}, 10.0});
  const KnotGrid fitted = fit_surface({{0, 1, 2, 6, 9}}, samples, SurfaceOptions{});
  CHECK(fitted.at({1.0}).value == doctest::Approx(1).epsilon(0.03));
  CHECK(fitted.at({9.0}).value == doctest::Approx(1).epsilon(0.05));
}

TEST_CASE("surface fit: no samples give a level nothing") {
  CHECK(fit_surface({{0, 1}}, {}, SurfaceOptions{}).at({0.5}).value == 0);
}
