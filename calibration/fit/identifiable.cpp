#include "calibration/fit/identifiable.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plateau {

namespace {

constexpr double kKnownShare = 0.5;  // of the band: a larger error identifies nothing
constexpr double kAlike = 0.9;       // cosine of two slopes from which on they are one direction

constexpr const char* kOutOfRange =
    "the fit leaves its plausible range: the base does not describe these samples";

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class Elimination {
 public:
  Elimination(const std::vector<Unknown>& unknowns, const Residuals& residuals, double noise)
      : unknowns_(unknowns), residuals_(residuals), noise_(noise) {
    result_.found.resize(unknowns.size());
    for (std::size_t i = 0; i < unknowns.size(); ++i) {
      free_.push_back(i);
      result_.values.push_back(unknowns[i].base);
    }
  }

  Identified run() {
    RobustFit fit = fit_free();
    while (!free_.empty()) {
      const std::vector<std::size_t> failing = failing_in(fit);
      if (failing.empty()) break;
      const std::size_t least = least_of(failing, fit);
      const bool known = fit.errors[least] <= kKnownShare * unknowns_[free_[least]].band;
      if (known) result_.found[free_[least]].held_why = kOutOfRange;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(least));
      fit = fit_free();
    }
    finish(fit);
    return std::move(result_);
  }

 private:
  RobustFit fit_free() {
    std::vector<FitVariable> variables;
    for (const std::size_t i : free_) {
      const Unknown& u = unknowns_[i];
      variables.push_back({u.base, u.low, u.high, u.band});
    }
    return robust_fit(
        variables,
        [this](const std::vector<double>& x) {
          std::vector<double> all;
          for (const Unknown& u : unknowns_) all.push_back(u.base);
          for (std::size_t v = 0; v < x.size(); ++v) all[free_[v]] = x[v];
          return residuals_(all);
        },
        noise_);
  }

  bool at_bound(std::size_t v, const RobustFit& fit) const {
    const Unknown& u = unknowns_[free_[v]];
    return fit.values[v] <= u.low || fit.values[v] >= u.high;
  }

  // Positions in free_.
  std::vector<std::size_t> failing_in(const RobustFit& fit) const {
    std::vector<std::size_t> failing;
    for (std::size_t v = 0; v < free_.size(); ++v) {
      if (!(fit.errors[v] <= kKnownShare * unknowns_[free_[v]].band) || at_bound(v, fit))
        failing.push_back(v);
    }
    return failing;
  }

  double weight(std::size_t v, const RobustFit& fit) const {
    return fit.slopes.empty()
               ? 0
               : std::sqrt(dot(fit.slopes[v], fit.slopes[v])) * unknowns_[free_[v]].band;
  }

  std::size_t least_of(const std::vector<std::size_t>& failing, const RobustFit& fit) const {
    return *std::min_element(failing.begin(), failing.end(), [&](std::size_t a, std::size_t b) {
      return weight(a, fit) < weight(b, fit) || (weight(a, fit) == weight(b, fit) && a > b);
    });
  }

  // The residuals' change with one unknown, others as found.
  std::vector<double> slope_of(std::size_t i) const {
    const double step = 1e-3 * unknowns_[i].band;
    std::vector<double> up = result_.values;
    std::vector<double> down = result_.values;
    up[i] = std::min(up[i] + step, unknowns_[i].high);
    down[i] = std::max(down[i] - step, unknowns_[i].low);
    const std::vector<double> above = residuals_(up);
    const std::vector<double> below = residuals_(down);
    std::vector<double> slope;
    for (std::size_t r = 0; r < above.size(); ++r)
      slope.push_back((above[r] - below[r]) / (up[i] - down[i]));
    return slope;
  }

  // Against what was fitted in the end.
  std::string why(std::size_t i, const RobustFit& fit) const {
    if (fit.residuals.empty()) return "no sample depends on it";
    const std::vector<double> slope = slope_of(i);
    const double size = std::sqrt(dot(slope, slope));
    if (size == 0) return "the samples hardly depend on it";
    if (fit.residuals.size() <= free_.size() + 1)
      return "too few samples (" + std::to_string(fit.residuals.size()) + ")";
    if (fit.scale / size > kKnownShare * unknowns_[i].band)
      return "the samples hardly depend on it";
    std::size_t nearest = 0;
    double likeness = 0;
    for (std::size_t v = 0; v < free_.size(); ++v) {
      const double length = std::sqrt(dot(fit.slopes[v], fit.slopes[v]));
      const double cosine = length > 0 ? std::abs(dot(slope, fit.slopes[v])) / (size * length) : 0;
      if (cosine <= likeness) continue;
      likeness = cosine;
      nearest = v;
    }
    if (likeness < kAlike) return "the samples cannot tell it from the other parameters together";
    return "the samples cannot tell it from " + unknowns_[free_[nearest]].name;
  }

  void finish(const RobustFit& fit) {
    for (std::size_t i = 0; i < unknowns_.size(); ++i) result_.found[i].value = unknowns_[i].base;
    for (std::size_t v = 0; v < free_.size(); ++v) {
      Found& found = result_.found[free_[v]];
      found.value = fit.values[v];
      found.error = fit.errors[v];
      const double band = unknowns_[free_[v]].band;
      found.samples = static_cast<int>(
          std::count_if(fit.slopes[v].begin(), fit.slopes[v].end(),
                        [&](double slope) { return std::abs(slope) * band > fit.scale; }));
      result_.values[free_[v]] = fit.values[v];
    }
    for (std::size_t i = 0; i < unknowns_.size(); ++i) {
      const bool free = std::find(free_.begin(), free_.end(), i) != free_.end();
      if (!free && result_.found[i].held_why.empty()) result_.found[i].held_why = why(i, fit);
    }
    result_.residuals = fit.residuals;
    result_.scale = fit.scale;
  }

  const std::vector<Unknown>& unknowns_;
  const Residuals& residuals_;
  double noise_;
  std::vector<std::size_t> free_;
  Identified result_;
};

}  // namespace

Identified fit_identifiable(const std::vector<Unknown>& unknowns, const Residuals& residuals,
                            double noise) {
  return Elimination(unknowns, residuals, noise).run();
}

}  // namespace plateau
