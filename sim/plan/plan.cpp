#include "sim/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sim/deployment/run.h"
#include "sim/interval/interval.h"
#include "sim/sweep/sweep.h"

namespace plateau {

namespace {

bool varies(const std::vector<std::string>& vary, const std::string& prefix) {
  return std::any_of(vary.begin(), vary.end(),
                     [&](const std::string& text) { return text.rfind(prefix, 0) == 0; });
}

// GPUs follow from parallel.* when those vary.
SweepRequest sweep_request(const PlanRequest& request, std::vector<std::string> vary) {
  SweepRequest sweep;
  sweep.scenario = request.scenario;
  sweep.options = request.options;
  if (varies(vary, "parallel.") && !varies(vary, "hardware.count"))
    sweep.options.sets.emplace_back("hardware.count=~");
  sweep.space = request.space;
  sweep.space.vary = std::move(vary);
  return sweep;
}

// Runs points on threads that keep their runner, and what it remembers, from round to round.
class Evaluator {
 public:
  Evaluator(Sweep& sweep, const PlanGoal& goal, int threads) : sweep_(sweep), goal_(goal) {
    for (int i = 0; i < std::max(1, threads); ++i) runners_.push_back(sweep.runner());
  }

  Evaluation evaluation() {
    return {[this](const std::vector<std::int64_t>& points) {
              return all<PointEstimate>(points, [this](PointRunner& runner, std::int64_t point) {
                return estimate_point(runner, point);
              });
            },
            [this](const std::vector<std::int64_t>& points) {
              return all<Candidate>(points, [this](PointRunner& runner, std::int64_t point) {
                return run_point(runner, point);
              });
            }};
  }

  // Scores of repetitions 1..n of a candidate.
  std::vector<std::vector<double>> repeat(const std::vector<PlanOption>& options, int n) {
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < options.size(); ++i)
      indices.push_back(static_cast<std::int64_t>(i));
    return all<std::vector<double>>(indices, [&](PointRunner& runner, std::int64_t index) {
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

  std::vector<std::string> sets_of(const Candidate& run) const {
    std::vector<std::string> sets = sweep_.sets_of(run.point);
    if (bisects()) {
      static const std::size_t kRate = metric_index("request_rate");
      PointRunner runner = sweep_.runner();
      const auto rate = rate_sets(runner.scenario(sets), run.metrics[kRate]);
      sets.insert(sets.end(), rate.begin(), rate.end());
    }
    return sets;
  }

 private:
  template <class Result, class Work>
  std::vector<Result> all(const std::vector<std::int64_t>& points, const Work& work) {
    std::vector<Result> results(points.size());
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto loop = [&](PointRunner& runner) {
      try {
        for (std::size_t at = next++; at < points.size(); at = next++)
          results[at] = work(runner, points[at]);
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

  bool bisects() const { return goal_.objective == "request_rate"; }

  template <class Result, class Work>
  Result feasible(const Work& work) const {
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

  PointEstimate estimate_point(PointRunner& runner, std::int64_t point) const {
    return feasible<PointEstimate>([&] {
      Deployment deployment = runner.deployment(runner.scenario(sweep_.sets_of(point)));
      return estimate(deployment);
    });
  }

  Candidate run_point(PointRunner& runner, std::int64_t point) const {
    Candidate run = feasible<Candidate>([&] {
      Candidate result;
      const Scenario scenario = runner.scenario(sweep_.sets_of(point));
      Deployment deployment = runner.deployment(scenario);
      if (bisects()) {
        bisect(runner, point, scenario, estimate(deployment), &result);
      } else {
        result.metrics = measure(deployment, &result.steps);
      }
      return result;
    });
    run.point = point;
    return run;
  }

  static Metrics measure(Deployment& deployment, double* steps) {
    const Report report = run(deployment);
    if (steps != nullptr)
      *steps += static_cast<double>(report.step.decode_count + report.step.prefill_count);
    const auto rate = deployment.scenario().workload.request_rate;
    return metrics_of(
        report, memory_of(deployment),
        deployment.workload().open_loop() && rate ? *rate : report.throughput.requests_per_s);
  }

  static std::vector<std::string> rate_sets(const Scenario& scenario, double rate) {
    return {"workload.client=poisson", "workload.concurrency=~",
            fmt::format("workload.requests={}", scenario.workload.requests),
            fmt::format("workload.request_rate={} requests/s", rate)};
  }

  // The highest rate that keeps all limits, to kRateTolerance.
  void bisect(PointRunner& runner, std::int64_t point, const Scenario& scenario,
              const PointEstimate& guess, Candidate* result) const {
    const auto at = [&](double rate) {
      std::vector<std::string> sets = sweep_.sets_of(point);
      const auto more = rate_sets(scenario, rate);
      sets.insert(sets.end(), more.begin(), more.end());
      Deployment deployment = runner.deployment(runner.scenario(sets));
      return measure(deployment, &result->steps);
    };
    double high = std::max(1e-3, guess.metrics[metric_index("request_rate")]);
    double low = 0;
    for (int i = 0; i < 12; ++i) {  // a rate that is kept below one that is not
      Metrics metrics = at(high);
      const bool kept = goal_.excess(metrics) <= 0;
      if (kept || result->metrics.empty() || low == 0) result->metrics = metrics;
      if (kept && low > 0) low = high;
      if (kept && low == 0) low = high;
      if (kept) {
        high *= 1.5;
      } else if (low == 0) {
        high /= 2;
      } else {
        break;
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

  Sweep& sweep_;
  const PlanGoal& goal_;
  std::vector<PointRunner> runners_;
};

// Most tok/s, fewest watts, least TPOT p50.
std::vector<Candidate> pareto_of(std::vector<Candidate> runs) {
  const std::size_t tokens = metric_index("output_tok_per_s");
  const std::size_t watts = metric_index("node_w");
  const std::size_t tpot = metric_index("tpot_p50_ms");
  std::stable_sort(runs.begin(), runs.end(), [&](const Candidate& a, const Candidate& b) {
    return a.metrics[tokens] > b.metrics[tokens];
  });
  std::vector<Candidate> front;
  for (Candidate& run : runs) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](const Candidate& other) {
      return other.metrics[watts] <= run.metrics[watts] &&
             !(other.metrics[tpot] > run.metrics[tpot]);
    });
    if (!beaten) front.push_back(std::move(run));
  }
  return front;
}

std::vector<LimitExcess> excesses_of(const PlanGoal& goal, const std::vector<Candidate>& runs) {
  std::vector<LimitExcess> all;
  for (const PlanLimit& limit : goal.limits) {
    LimitExcess excess;
    excess.limit = limit.text;
    excess.metric = metric_names()[limit.metric];
    excess.least = std::numeric_limits<double>::infinity();
    for (const Candidate& run : runs) {
      if (!run.ok || limit.excess(run.metrics) >= excess.least) continue;
      excess.least = limit.excess(run.metrics);
      excess.value = run.metrics[limit.metric];
    }
    excess.excludes_all = excess.least > 0;
    all.push_back(excess);
  }
  return all;
}

void add_noise(Evaluator& evaluator, PlanResult* result) {
  if (result->repetitions == 0 || result->best.empty()) return;
  const auto scores = evaluator.repeat(result->best, result->repetitions);
  for (std::size_t i = 0; i < result->best.size(); ++i) {
    PlanOption& option = result->best[i];
    std::vector<double> own = scores[i];
    if (!result->goal.largest)
      for (double& score : own) score = -score;
    option.score = interval_of(std::move(own));
    std::vector<double> lead;
    for (std::size_t r = 0; r < scores[i].size(); ++r) lead.push_back(scores[0][r] - scores[i][r]);
    const auto difference = interval_of(std::move(lead));
    option.within_noise = i > 0 && difference && difference->low <= 0;
  }
}

std::vector<std::string> space_of(const PlanRequest& request, const Scenario& scenario) {
  if (!request.space.vary.empty() || request.space.way == SpaceRequest::Way::list)
    return request.space.vary;
  const auto profile = load_profile_of(scenario, request.options.data_dir);
  std::vector<std::string> profiles;
  for (const ProfileName& name : list_profiles(request.options.data_dir))
    profiles.push_back(name.name);
  return default_space(scenario, profile->clock(), profile->device().power_limit_w, profiles);
}

}  // namespace

PlanResult plan(const PlanRequest& request) {
  const Scenario scenario = read_scenario(request.scenario, request.options);
  PlanResult result;
  result.goal = read_goal(request.goal, scenario.limits,
                          scenario.workload.client != WorkloadConfig::Client::closed_loop);
  Sweep sweep(sweep_request(request, space_of(request, scenario)));
  result.keys = sweep.space().keys();
  result.points = sweep.space().size();
  result.repetitions = request.repetitions;
  Evaluator evaluator(sweep, result.goal, request.threads);
  result.search = search(sweep.space(), result.goal, evaluator.evaluation(), request.search);
  std::vector<Candidate> kept;
  for (const Candidate& run : result.search.runs) {
    if (!run.ok) {
      ++result.infeasible;
      if (result.first_reason.empty()) result.first_reason = run.reason;
    } else if (result.goal.excess(run.metrics) <= 0) {
      kept.push_back(run);
    }
  }
  result.limits = excesses_of(result.goal, result.search.runs);
  result.pareto = pareto_of(kept);
  std::sort(kept.begin(), kept.end(),
            [&](const Candidate& a, const Candidate& b) { return better(result.goal, a, b); });
  PointRunner runner = sweep.runner();
  for (std::size_t i = 0; i < std::min(kept.size(), static_cast<std::size_t>(request.best)); ++i) {
    PlanOption option;
    option.run = kept[i];
    option.sets = evaluator.sets_of(kept[i]);
    option.command = launch_command(runner.scenario(option.sets));
    result.best.push_back(std::move(option));
  }
  add_noise(evaluator, &result);
  return result;
}

}  // namespace plateau
