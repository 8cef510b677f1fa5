// The fit against closed forms.
#include "calibration/fit/robust_fit.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/fit/identifiable.h"
#include "models/random.h"

using namespace plateau;

namespace {

// y = a + b x at x = 0..n-1, with normal noise.
struct Line {
  std::vector<double> y;
  Residuals residuals() const {
    return [this](const std::vector<double>& v) {
      std::vector<double> r;
      for (std::size_t i = 0; i < y.size(); ++i)
        r.push_back(v[0] + v[1] * static_cast<double>(i) - y[i]);
      return r;
    };
  }
};

Line line(double a, double b, int n, double sigma, std::uint64_t seed) {
  Line result;
  Random random = RandomStream(seed, "line").at(0, 0);
  for (int i = 0; i < n; ++i) result.y.push_back(a + b * i + sigma * normal(random));
  return result;
}

}  // namespace

TEST_CASE("a straight line without noise is found exactly") {
  const Line data = line(3, 0.5, 10, 0, 1);
  const RobustFit fit = robust_fit({{0, -100, 100, 1}, {0, -100, 100, 1}}, data.residuals(), 1e-6);
  CHECK(fit.values[0] == doctest::Approx(3).epsilon(1e-8));
  CHECK(fit.values[1] == doctest::Approx(0.5).epsilon(1e-8));
}

TEST_CASE("standard errors of a line are those of its normal equations") {
  // sum of squares of x about its mean for 0..49: 10412.5
  const Line data = line(1, 2, 50, 0.1, 7);
  const RobustFit fit = robust_fit({{0, -100, 100, 1}, {0, -100, 100, 1}}, data.residuals(), 1e-6);
  CHECK(fit.errors[1] == doctest::Approx(0.1 / std::sqrt(10412.5)).epsilon(0.25));
  CHECK(fit.errors[0] ==
        doctest::Approx(0.1 * std::sqrt(1.0 / 50 + 24.5 * 24.5 / 10412.5)).epsilon(0.25));
}

TEST_CASE("the truth lies within two standard errors about 95 times in 100") {
  int inside = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Line data = line(1, 2, 30, 0.1, static_cast<std::uint64_t>(trial));
    const RobustFit fit =
        robust_fit({{0, -100, 100, 1}, {0, -100, 100, 1}}, data.residuals(), 1e-6);
    if (std::abs(fit.values[1] - 2) < 2 * fit.errors[1]) ++inside;
  }
  CHECK(inside > 0.92 * kTrials);
  CHECK(inside < 0.98 * kTrials);
}

TEST_CASE("one sample in ten far off moves the line by little") {
  Line data = line(1, 2, 50, 0.1, 3);
  for (std::size_t i = 0; i < data.y.size(); i += 10) data.y[i] += 50;
  const RobustFit fit = robust_fit({{0, -100, 100, 1}, {0, -100, 100, 1}}, data.residuals(), 1e-6);
  CHECK(fit.values[1] == doctest::Approx(2).epsilon(0.01));
}

TEST_CASE("a bound holds, and the other variable makes the best of it") {
  const Line data = line(-1, 2, 20, 0, 1);
  const RobustFit fit = robust_fit({{1, 0, 100, 1}, {0, -100, 100, 1}}, data.residuals(), 1e-6);
  CHECK(fit.values[0] == 0);
  CHECK(fit.values[1] < 2);
  CHECK(fit.values[1] > 1.8);
}

TEST_CASE("what the data cannot tell apart is held where the base knows it better") {
  // y = (a + b) x: only the sum is known.
  const auto residuals = [](const std::vector<double>& v) {
    std::vector<double> r;
    for (int i = 1; i <= 10; ++i) r.push_back((v[0] + v[1]) * i - 3.0 * i);
    return r;
  };
  const Identified fit =
      fit_identifiable({{"open", 1, 0.5, -10, 10}, {"known", 1, 0.1, -10, 10}}, residuals, 1e-3);
  CHECK_FALSE(fit.found[0].held());
  CHECK(fit.found[0].value == doctest::Approx(2));
  CHECK(fit.found[0].samples == 10);
  CHECK(fit.found[1].held());
  CHECK(fit.found[1].value == 1);
  CHECK(fit.found[1].held_why == "the samples cannot tell it from open");
}

TEST_CASE("what the data do not touch, and too few data, hold") {
  const auto one = [](const std::vector<double>& v) { return std::vector<double>{v[0] - 2}; };
  const Identified few = fit_identifiable({{"a", 1, 1, -10, 10}, {"b", 5, 1, -10, 10}}, one, 1e-3);
  CHECK(few.found[0].held_why == "too few samples (1)");
  CHECK(few.found[1].held_why == "the samples hardly depend on it");
  const auto two = [](const std::vector<double>& v) {
    return std::vector<double>{v[0] - 2, v[0] - 2, v[0] - 2};
  };
  const Identified untouched =
      fit_identifiable({{"a", 1, 1, -10, 10}, {"b", 5, 1, -10, 10}}, two, 1e-3);
  CHECK(untouched.found[0].value == doctest::Approx(2));
  CHECK(untouched.found[1].held_why == "the samples hardly depend on it");
  CHECK(untouched.values[1] == 5);
}

TEST_CASE("what the fit drives to a bound is held at the base, and the rest is fitted again") {
  // y = 3 - 2 x with a slope that may be 1/3 to 3 only.
  const auto residuals = [](const std::vector<double>& v) {
    std::vector<double> r;
    for (int i = 0; i < 10; ++i) r.push_back(v[0] + v[1] * i - (3 - 2.0 * i));
    return r;
  };
  const Identified fit = fit_identifiable(
      {{"level", 0, 100, -1000, 1000}, {"slope", 1, 5, 1.0 / 3, 3}}, residuals, 1e-3);
  CHECK(fit.found[1].held_why.find("leaves its plausible range") != std::string::npos);
  CHECK(fit.values[1] == 1);
  CHECK(fit.values[0] < -5);
}
