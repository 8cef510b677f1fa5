#include "sim/plan/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "calibration/csv.h"
#include "models/random.h"

namespace plateau {

namespace {

// Runs of the first round, of the best estimates and spread over the space, and of later rounds;
// at most, and at most this share of what the budget pays for.
constexpr std::size_t kFirstBest = 16;
constexpr std::size_t kFirstSpread = 32;
constexpr std::size_t kRound = 12;
constexpr double kFirstBestShare = 0.2;
constexpr double kFirstSpreadShare = 0.25;
constexpr double kRoundShare = 0.15;
constexpr int kPatience = 5;      // rounds without a better point
constexpr double kTop = 0.25;     // of the ranks: where the runs beside the best ones are drawn
constexpr std::size_t kNear = 5;  // runs whose ratios are carried over to a point
constexpr double kBetter = 5e-4;  // relative gain that counts

bool is_number(const std::string& text) {
  return parse_number(text.substr(0, text.find_first_not_of("+-.0123456789eE"))).has_value();
}

class GuidedSearch {
 public:
  GuidedSearch(const PointSpace& space, const PlanGoal& goal, const Evaluation& evaluation,
               const SearchOptions& options)
      : space_(space), goal_(goal), evaluation_(evaluation), options_(options) {
    for (const Variation& key : space.keys())
      ordered_.push_back(std::all_of(key.values.begin(), key.values.end(), is_number));
    needed_ = {goal.metric, metric_index("output_tok_per_s")};
    for (const PlanLimit& limit : goal.limits) needed_.push_back(limit.metric);
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
  }

  SearchResult run() {
    estimate_all();
    run_points(first_points());
    int patience = kPatience;
    while (patience > 0 && left() > 0) {
      const bool found = run_points(next_points());
      if (found) {
        patience = kPatience;
      } else if (!run_points(neighbours())) {
        --patience;
      } else {
        patience = kPatience;
      }
    }
    result_.method = "guided";
    std::sort(result_.runs.begin(), result_.runs.end(),
              [](const Candidate& a, const Candidate& b) { return a.point < b.point; });
    return std::move(result_);
  }

 private:
  void estimate_all() {
    std::vector<std::int64_t> points(static_cast<std::size_t>(space_.size()));
    std::iota(points.begin(), points.end(), std::int64_t{0});
    estimates_ = evaluation_.estimates(points);
    done_.assign(points.size(), false);
    for (const PointEstimate& estimate : estimates_) {
      result_.priced += estimate.priced;
      result_.steps_of_all += estimate.steps;
    }
    budget_ = options_.budget * result_.steps_of_all - result_.priced;
  }

  double left() const { return budget_ - result_.steps; }

  // `most` runs, fewer when the whole budget pays for few; at least one.
  std::size_t runs_of(std::size_t most, double share) const {
    const double mean = result_.steps_of_all / static_cast<double>(space_.size());
    const double paid = mean > 0 ? share * budget_ / mean : 0;
    return std::max<std::size_t>(1, std::min(most, static_cast<std::size_t>(std::max(0.0, paid))));
  }

  // Runs what is new and affordable; whether a better point came out.
  bool run_points(const std::vector<std::int64_t>& wanted) {
    std::vector<std::int64_t> points;
    double cost = 0;
    for (const std::int64_t point : wanted) {
      const auto at = static_cast<std::size_t>(point);
      if (done_[at] || !estimates_[at].ok) continue;
      const bool first = result_.runs.empty() && points.empty();  // one run at any price
      if (cost + estimates_[at].steps > left() && !first) continue;
      cost += estimates_[at].steps;
      done_[at] = true;
      points.push_back(point);
    }
    bool found = false;
    for (Candidate& run : evaluation_.runs(points)) {
      result_.steps += run.steps;
      result_.runs.push_back(std::move(run));
      const Candidate& last = result_.runs.back();
      if (!last.ok) continue;
      coordinates_.push_back(space_.indices(last.point));
      ratios_.push_back(ratios_of(last));
      found = improves(result_.runs.size() - 1) || found;
    }
    return found;
  }

  bool improves(std::size_t index) {
    const Candidate& run = result_.runs[index];
    if (best_ < 0) {
      best_ = static_cast<std::int64_t>(index);
      return true;
    }
    const Candidate& best = result_.runs[static_cast<std::size_t>(best_)];
    if (!better(goal_, run, best)) return false;
    const double before = goal_.score(best.metrics);
    const double gain = goal_.score(run.metrics) - before;
    const bool counts =
        gain > kBetter * std::abs(before) || goal_.excess(run.metrics) < goal_.excess(best.metrics);
    best_ = static_cast<std::int64_t>(index);
    return counts;
  }

  // Run over estimate for the metrics that matter; without an estimate the run's own value.
  Metrics ratios_of(const Candidate& run) const {
    Metrics ratios;
    const Metrics& said = estimates_[static_cast<std::size_t>(run.point)].metrics;
    for (const std::size_t m : needed_)
      ratios.push_back(std::isnan(said[m]) || said[m] == 0 ? run.metrics[m]
                                                           : run.metrics[m] / said[m]);
    return ratios;
  }

  double distance(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) const {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto span =
          static_cast<double>(std::max<std::size_t>(1, space_.keys()[k].values.size() - 1));
      const double d = ordered_[k] ? (a[k] - b[k]) / span : (a[k] == b[k] ? 0.0 : 1.0);
      sum += d * d;
    }
    return sum;
  }

  // The estimate times the ratios of the nearest runs, weighted by inverse squared distance.
  Metrics predicted(std::int64_t point) const {
    Metrics metrics = estimates_[static_cast<std::size_t>(point)].metrics;
    const std::vector<std::int32_t> at = space_.indices(point);
    std::vector<std::pair<double, std::size_t>> near;
    for (std::size_t i = 0; i < coordinates_.size(); ++i)
      near.emplace_back(distance(at, coordinates_[i]), i);
    const std::size_t n = std::min(kNear, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(n), near.end());
    for (std::size_t j = 0; j < needed_.size(); ++j) {
      double weights = 0;
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double ratio = ratios_[near[i].second][j];
        if (std::isnan(ratio)) continue;
        const double weight = 1 / (near[i].first + 1e-6);
        weights += weight;
        sum += weight * ratio;
      }
      if (weights == 0) continue;
      double& value = metrics[needed_[j]];
      value = std::isnan(value) ? sum / weights : value * sum / weights;
    }
    return metrics;
  }

  // Points that have not run, best first by `metrics_at`.
  template <class Prediction>
  std::vector<std::int64_t> ranked(const Prediction& metrics_at) const {
    struct Rank {
      double excess;
      double score;
      std::int64_t point;
    };
    std::vector<Rank> ranks;
    for (std::int64_t point = 0; point < space_.size(); ++point) {
      const auto at = static_cast<std::size_t>(point);
      if (done_[at] || !estimates_[at].ok) continue;
      const Metrics metrics = metrics_at(point);
      ranks.push_back({goal_.excess(metrics), goal_.score(metrics), point});
    }
    std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
      if (a.excess != b.excess) return a.excess < b.excess;
      return a.score != b.score ? a.score > b.score : a.point < b.point;
    });
    std::vector<std::int64_t> points;
    for (const Rank& rank : ranks) points.push_back(rank.point);
    return points;
  }

  std::vector<std::int64_t> first_points() const {
    std::vector<std::int64_t> points = ranked(
        [this](std::int64_t point) { return estimates_[static_cast<std::size_t>(point)].metrics; });
    const std::size_t possible = points.size();
    std::vector<std::int64_t> first(
        points.begin(), points.begin() + static_cast<std::ptrdiff_t>(std::min(
                                             runs_of(kFirstBest, kFirstBestShare), possible)));
    Random random = RandomStream(1, "plan/first").at(0);
    const std::size_t spread = runs_of(kFirstSpread, kFirstSpreadShare);
    for (std::size_t i = 0; i < spread && possible > 0; ++i)
      first.push_back(points[below(random, static_cast<std::uint32_t>(possible))]);
    return first;
  }

  // The best predictions, and some just outside the limits: a wrong ratio may have put them there.
  std::vector<std::int64_t> next_points() const {
    const std::vector<std::int64_t> points =
        ranked([this](std::int64_t point) { return predicted(point); });
    const std::size_t round = runs_of(kRound, kRoundShare);
    std::vector<std::int64_t> next(
        points.begin(),
        points.begin() + static_cast<std::ptrdiff_t>(std::min(round, points.size())));
    // Some at random from the upper ranks: the ratios nearby may all be wrong.
    Random random =
        RandomStream(1, "plan/rounds").at(static_cast<std::uint64_t>(result_.runs.size()));
    const auto top = static_cast<std::uint32_t>(kTop * static_cast<double>(points.size()));
    for (std::size_t i = 0; i < round / 3 && top > 0; ++i)
      next.push_back(points[below(random, top)]);
    if (goal_.limits.empty() || best_ < 0) return next;
    const double best = goal_.score(result_.runs[static_cast<std::size_t>(best_)].metrics);
    std::size_t outside = 0;
    for (const std::int64_t point : points) {
      const Metrics metrics = predicted(point);
      const double excess = goal_.excess(metrics);
      if (excess <= 0 || excess > 0.1 || goal_.score(metrics) <= best) continue;
      next.push_back(point);
      if (++outside >= round / 3) break;
    }
    return next;
  }

  // One step along each key from the best point, or along two keys at once; two along keys in
  // order.
  std::vector<std::int64_t> neighbours() const {
    if (best_ < 0) return {};
    const auto at = space_.indices(result_.runs[static_cast<std::size_t>(best_)].point);
    std::vector<std::int64_t> points;
    for (std::int64_t point = 0; point < space_.size(); ++point) {
      if (done_[static_cast<std::size_t>(point)]) continue;
      const auto other = space_.indices(point);
      int keys = 0;
      int far = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const int step = std::abs(at[k] - other[k]);
        keys += step > 0 ? 1 : 0;
        far = std::max(far, ordered_[k] ? step : std::min(step, 1));
      }
      if ((keys == 1 && far <= 2) || (keys == 2 && far == 1)) points.push_back(point);
    }
    return points;
  }

  const PointSpace& space_;
  const PlanGoal& goal_;
  const Evaluation& evaluation_;
  SearchOptions options_;
  std::vector<bool> ordered_;
  std::vector<std::size_t> needed_;
  std::vector<PointEstimate> estimates_;
  std::vector<bool> done_;
  std::vector<std::vector<std::int32_t>> coordinates_;  // of runs that worked
  std::vector<Metrics> ratios_;
  double budget_ = 0;
  std::int64_t best_ = -1;
  SearchResult result_;
};

}  // namespace

bool better(const PlanGoal& goal, const Candidate& a, const Candidate& b) {
  if (a.ok != b.ok) return a.ok;
  if (!a.ok) return a.point < b.point;
  const double broken_a = goal.excess(a.metrics);
  const double broken_b = goal.excess(b.metrics);
  if (broken_a != broken_b) return broken_a < broken_b;
  const double score_a = goal.score(a.metrics);
  const double score_b = goal.score(b.metrics);
  if (score_a != score_b) return score_a > score_b;
  static const std::size_t kTokens = metric_index("output_tok_per_s");
  if (a.metrics[kTokens] != b.metrics[kTokens]) return a.metrics[kTokens] > b.metrics[kTokens];
  return a.point < b.point;
}

SearchResult search(const PointSpace& space, const PlanGoal& goal, const Evaluation& evaluation,
                    const SearchOptions& options) {
  if (space.size() > options.exhaustive)
    return GuidedSearch(space, goal, evaluation, options).run();
  SearchResult result;
  result.method = "exhaustive";
  std::vector<std::int64_t> points(static_cast<std::size_t>(space.size()));
  std::iota(points.begin(), points.end(), std::int64_t{0});
  result.runs = evaluation.runs(points);
  for (const Candidate& run : result.runs) result.steps += run.steps;
  result.steps_of_all = result.steps;
  return result;
}

}  // namespace plateau
