#include "sim/interval/interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/deployment/remembered_costs.h"
#include "sim/deployment/run.h"
#include "sim/interval/noisy_costs.h"

namespace plateau {

namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - std::floor(at));
}

}  // namespace

std::uint64_t repetition_seed(std::uint64_t seed, int repetition) {
  return seed + 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(repetition);
}

ExpertRouting repetition_routing(const Scenario& scenario, int repetition) {
  Scenario other = scenario;
  other.seed = repetition_seed(scenario.seed, repetition);
  return make_routing(other);
}

std::vector<Report> repeat_runs(const Scenario& scenario, std::shared_ptr<const Profile> profile,
                                int n) {
  std::vector<Report> reports;
  for (int r = 1; r <= n; ++r) {
    const auto noisy = std::make_shared<RememberedCosts>(
        std::make_shared<NoisyCosts>(profile, scenario.seed, static_cast<std::uint32_t>(r)));
    Deployment deployment(scenario, noisy, repetition_routing(scenario, r));
    reports.push_back(run(deployment));
  }
  return reports;
}

std::optional<Interval> interval_of(std::vector<double> sample) {
  if (sample.empty()) return std::nullopt;
  std::sort(sample.begin(), sample.end());
  return Interval{quantile(sample, 0.05), quantile(sample, 0.95)};
}

IntervalReport intervals(const Scenario& scenario, std::shared_ptr<const Profile> profile, int n) {
  std::vector<double> tokens;
  std::vector<double> watts;
  for (const Report& report : repeat_runs(scenario, std::move(profile), n)) {
    tokens.push_back(report.throughput.output_tok_per_s);
    watts.push_back(report.power.gpu_w_mean);
  }
  return {interval_of(std::move(tokens)), interval_of(std::move(watts))};
}

}  // namespace plateau
