#include "sim/plan/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sim/deployment/run.h"

namespace plateau {

namespace {

template <class Result, class Work>
Result feasible(const Work& work) {
  Result result;
  try {
    result = work();
    result.ok = true;
  } catch (const InputError& error) {
    result.ok = false;
    result.reason = reason_of(error);
  } catch (const std::invalid_argument& error) {  // a step that the profile cannot price
    result.ok = false;
    result.reason = error.what();
  }
  return result;
}

Metrics measure(Deployment& deployment, double* steps) {
  const Report report = run(deployment);
  if (steps != nullptr)
    *steps += static_cast<double>(report.step.decode_count + report.step.prefill_count);
  return metrics_of(
      report, memory_of(deployment),
      deployment.workload().arrival_rate().value_or(report.throughput.requests_per_s));
}

// To four digits, so that the answer is the rate that was run.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

// The scenario under another load: a closed loop becomes a Poisson stream, an open one keeps its
// kind; a trace is sent faster or slower.
std::vector<std::string> rate_sets(const Scenario& scenario, double trace_rate, double rate) {
  const WorkloadConfig& workload = scenario.workload;
  if (workload.client == WorkloadConfig::Client::trace)
    return {
        fmt::format("workload.rate_scale={}", rounded(workload.rate_scale * rate / trace_rate))};
  std::vector<std::string> sets;
  if (workload.client == WorkloadConfig::Client::closed_loop)
    sets = {"workload.client=poisson", "workload.concurrency=~",
            fmt::format("workload.requests={}", workload.requests)};
  sets.push_back(fmt::format("workload.request_rate={} requests/s", rounded(rate)));
  return sets;
}

}  // namespace

Evaluator::Evaluator(Sweep& sweep, const PlanGoal& goal, int threads,
                     std::function<void(const PlanProgress&)> progress)
    : sweep_(sweep), goal_(goal), progress_(std::move(progress)) {
  for (int i = 0; i < std::max(1, threads); ++i) runners_.push_back(sweep.runner());
}

Evaluation Evaluator::evaluation() {
  return {[this](const std::vector<std::int64_t>& points) {
            return all<PointEstimate>("estimated", points,
                                      [this](PointRunner& runner, std::int64_t point) {
                                        return estimate_point(runner, point);
                                      });
          },
          [this](const std::vector<std::int64_t>& points) {
            return all<Candidate>("simulated", points,
                                  [this](PointRunner& runner, std::int64_t point) {
                                    return run_point(runner, point);
                                  });
          }};
}

std::vector<std::vector<double>> Evaluator::repeat(const std::vector<PlanOption>& options, int n) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < options.size(); ++i) indices.push_back(static_cast<std::int64_t>(i));
  return all<std::vector<double>>(
      "repeated", indices, [&](PointRunner& runner, std::int64_t index) {
        const PlanOption& option = options[static_cast<std::size_t>(index)];
        const Scenario scenario = runner.scenario(option.sets);
        std::vector<double> scores;
        for (int r = 1; r <= n; ++r) {
          Deployment deployment = runner.deployment(scenario, r);
          scores.push_back(goal_.score(measure(deployment, nullptr)));
        }
        return scores;
      });
}

std::vector<std::string> Evaluator::sets_of(const Candidate& run) const {
  std::vector<std::string> sets = sweep_.sets_of(run.point);
  if (bisects()) {
    static const std::size_t kRate = metric_index("request_rate");
    PointRunner runner = sweep_.runner();
    const Scenario scenario = runner.scenario(sets);
    const double now = runner.deployment(scenario).workload().arrival_rate().value_or(0);
    const auto rate = rate_sets(scenario, now, run.metrics[kRate]);
    sets.insert(sets.end(), rate.begin(), rate.end());
  }
  return sets;
}

std::vector<std::string> Evaluator::warnings_of(const std::vector<std::string>& sets) {
  Deployment deployment = runners_[0].deployment(scenario_of(sets));
  return run(deployment).warnings;
}

template <class Result, class Work>
std::vector<Result> Evaluator::all(const char* what, const std::vector<std::int64_t>& points,
                                   const Work& work) {
  std::vector<Result> results(points.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  PlanProgress progress{what, 0, static_cast<std::int64_t>(points.size())};
  const auto loop = [&](PointRunner& runner) {
    try {
      for (std::size_t at = next++; at < points.size(); at = next++) {
        results[at] = work(runner, points[at]);
        const std::lock_guard<std::mutex> lock(mutex);
        ++progress.done;
        if (progress_) progress_(progress);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
      next = points.size();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min(runners_.size(), points.size()); ++i)
    others.emplace_back([&, i] { loop(runners_[i]); });
  loop(runners_[0]);
  for (std::thread& thread : others) thread.join();
  if (error) std::rethrow_exception(error);
  return results;
}

PointEstimate Evaluator::estimate_point(PointRunner& runner, std::int64_t point) {
  return feasible<PointEstimate>([&] {
    const std::vector<std::string> sets = sweep_.sets_of(point);
    Deployment deployment = runner.deployment(runner.scenario(sets));
    return estimate(deployment, prices_, PricedSteps::pricing_of(sets));
  });
}

Candidate Evaluator::run_point(PointRunner& runner, std::int64_t point) {
  Candidate run = feasible<Candidate>([&] {
    Candidate result;
    const std::vector<std::string> sets = sweep_.sets_of(point);
    const Scenario scenario = runner.scenario(sets);
    Deployment deployment = runner.deployment(scenario);
    if (bisects()) {
      static const std::size_t kRate = metric_index("request_rate");
      const auto guess = estimate(deployment, prices_, PricedSteps::pricing_of(sets));
      bisect(runner, point, deployment, guess.metrics[kRate], &result);
    } else {
      result.metrics = measure(deployment, &result.steps);
    }
    return result;
  });
  run.point = point;
  return run;
}

void Evaluator::bisect(PointRunner& runner, std::int64_t point, const Deployment& as_is,
                       double guess, Candidate* result) const {
  constexpr int kMostTries = 24;  // of doubling or halving: seven decades
  const auto at = [&](double rate) {
    std::vector<std::string> sets = sweep_.sets_of(point);
    const auto more =
        rate_sets(as_is.scenario(), as_is.workload().arrival_rate().value_or(0), rate);
    sets.insert(sets.end(), more.begin(), more.end());
    Deployment deployment = runner.deployment(runner.scenario(sets));
    return measure(deployment, &result->steps);
  };
  double rate = std::max(1e-3, guess);
  double low = 0;   // kept
  double high = 0;  // not kept
  for (int i = 0; i < kMostTries && (low == 0 || high == 0); ++i) {
    Metrics metrics = at(rate);
    if (goal_.excess(metrics) <= 0) {
      low = rate;
      rate *= 1.5;
      result->metrics = std::move(metrics);
    } else {
      high = rate;
      rate /= 2;
      if (low == 0) result->metrics = std::move(metrics);
    }
  }
  while (low > 0 && high > low * (1 + kRateTolerance)) {
    const double middle = std::sqrt(low * high);
    Metrics metrics = at(middle);
    if (goal_.excess(metrics) <= 0) {
      low = middle;
      result->metrics = std::move(metrics);
    } else {
      high = middle;
    }
  }
}

}  // namespace plateau
