#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/plan/plan.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

constexpr const char* kIndent = "   ";

double at(const Metrics& metrics, const char* name) { return metrics[metric_index(name)]; }

std::string shown(double value) { return std::isfinite(value) ? compact(value) : "-"; }

// Quoted where a shell would cut it.
std::string word_of(const std::string& set) {
  return set.find(' ') == std::string::npos ? set : "'" + set + "'";
}

std::vector<std::string> words_of(std::vector<std::string> sets) {
  for (std::string& set : sets) set = word_of(set);
  return sets;
}

std::string off_text(double excess) {
  if (!std::isfinite(excess)) return "infinitely";
  return excess < 10 ? percent(excess) : "a factor of " + compact(1 + excess);
}

class PlanText {
 public:
  PlanText(const PlanResult& result, const TextOptions& options)
      : result_(result),
        width_(std::max<std::size_t>(60, static_cast<std::size_t>(std::max(0, options.columns)))) {}

  std::string run() {
    heading();
    if (result_.best.empty()) {
      refusal();
      return text_;
    }
    text_ += "\n";
    for (std::size_t i = 0; i < result_.best.size(); ++i) option(result_.best[i], i + 1);
    front();
    if (!result_.warnings.empty()) text_ += "\n";
    for (const std::string& warning : result_.warnings) paragraph("Warning: ", warning);
    return text_;
  }

 private:
  void paragraph(const std::string& first, const std::string& text) {
    for (const std::string& line : wrap(first, text, width_)) text_ += line + "\n";
  }

  // Words that are not to be cut.
  void words(const std::string& first, const std::vector<std::string>& words) {
    std::string line = first;
    bool empty = true;
    for (const std::string& word : words) {
      if (!empty && line.size() + 1 + word.size() > width_) {
        text_ += line + "\n";
        line = std::string(first.size(), ' ');
        empty = true;
      }
      line += (empty ? "" : " ") + word;
      empty = false;
    }
    text_ += line + "\n";
  }

  void heading() {
    const SearchResult& search = result_.search;
    paragraph("", result_.question);
    text_ += result_.question.empty() ? "" : "\n";
    std::string text = fmt::format(
        "{} {} over {} points: {} simulated ({} search, {} steps",
        result_.goal.largest ? "maximise" : "minimise", result_.goal.objective,
        grouped(static_cast<double>(result_.space->size())),
        grouped(static_cast<double>(search.runs.size())), search.method, grouped(search.steps));
    if (search.method == "guided")
      text += fmt::format(" and {} priced, of about {} for all", grouped(search.priced),
                          grouped(search.steps_of_all));
    paragraph("", text + ")");
    for (const PlanLimit& limit : result_.goal.limits) {
      text_ += "limit: " + limit.text;
      text_ += limit.key == "queue_share" ? " (mean queue over mean running: sustained)\n" : "\n";
    }
    if (result_.infeasible > 0 &&
        result_.infeasible < static_cast<std::int64_t>(search.runs.size()))
      paragraph("", grouped(static_cast<double>(result_.infeasible)) +
                        " of them cannot run, the first because " + result_.first_reason);
  }

  std::string figures(const Metrics& m) const {
    std::string text = shown(at(m, "output_tok_per_s")) + " tok/s, ";
    if (result_.goal.metric == metric_index("request_rate"))
      text = fmt::format("sustains {} requests/s: ", shown(at(m, "request_rate"))) + text;
    text += shown(at(m, "gpus")) + (at(m, "gpus") == 1 ? " GPU, " : " GPUs, ") +
            shown(at(m, "gpu_w_mean")) + " W/GPU, " + shown(at(m, "j_per_output_token")) +
            " J/token, TTFT p99 " + shown(at(m, "ttft_p99_ms")) + " ms, TPOT p50 " +
            shown(at(m, "tpot_p50_ms")) + " ms";
    const double cost = at(m, "cost_per_million_output_tokens");
    return std::isfinite(cost) ? text + ", " + shown(cost) + " per million tokens" : text;
  }

  void option(const PlanOption& option, std::size_t rank) {
    words(fmt::format("{}. ", rank), words_of(option.sets));
    paragraph(kIndent, figures(option.run.metrics));
    if (option.score) {
      paragraph(kIndent, fmt::format("{} p5-p95 {} to {}{}", result_.goal.objective,
                                     compact(option.score->low), compact(option.score->high),
                                     option.within_noise ? ": within noise of the first" : ""));
    }
    for (const std::string& set : option.same_sets) paragraph(kIndent, "the same with " + set);
    command(option.command);
  }

  // Lines that can be pasted as they stand; a word is never cut.
  void command(const std::string& text) {
    std::string line = kIndent;
    std::size_t from = 0;
    while (from < text.size()) {
      const std::size_t next = std::min(text.find(" --", from + 1), text.size());
      const std::string part = text.substr(from, next - from);
      if (line.size() + part.size() + 2 > width_ && line.size() > 5) {
        text_ += line + " \\\n";
        line = "    ";
      }
      line += part;
      from = next;
    }
    if (!text.empty()) text_ += line + "\n";
  }

  // Along the front; what all its points share says nothing.
  std::vector<std::size_t> keys_that_differ() const {
    std::vector<std::size_t> keys;
    for (std::size_t k = 0; k < result_.space->keys().size(); ++k) {
      const auto value = [&](const Candidate& run) { return result_.space->values(run.point)[k]; };
      const bool differs = std::any_of(
          result_.pareto.begin(), result_.pareto.end(),
          [&](const Candidate& run) { return value(run) != value(result_.pareto.front()); });
      if (differs) keys.push_back(k);
    }
    return keys;
  }

  void front() {
    constexpr std::size_t kMost = 12;
    text_ +=
        fmt::format("\nPareto front of tok/s, watts and TPOT: {} points\n", result_.pareto.size());
    text_ += "    tok/s  W/GPU  TPOT p50 ms\n";
    const std::vector<std::size_t> differing = keys_that_differ();
    for (std::size_t i = 0; i < std::min(kMost, result_.pareto.size()); ++i) {
      const Metrics& m = result_.pareto[i].metrics;
      const std::vector<std::string> values = result_.space->values(result_.pareto[i].point);
      std::vector<std::string> sets;
      for (const std::size_t k : differing) {
        const std::string& key = result_.space->keys()[k].key;
        sets.push_back(key.substr(key.rfind('.') + 1) + "=" + values[k]);
      }
      words(pad_left(shown(at(m, "output_tok_per_s")), 9) +
                pad_left(shown(at(m, "gpu_w_mean")), 7) +
                pad_left(shown(at(m, "tpot_p50_ms")), 13) + "  ",
            words_of(sets));
    }
    if (result_.pareto.size() > kMost)
      text_ += fmt::format("    ... {} more (--json, --html)\n", result_.pareto.size() - kMost);
  }

  void refusal() {
    const auto& runs = result_.search.runs;
    if (std::none_of(runs.begin(), runs.end(), [](const Candidate& run) { return run.ok; })) {
      paragraph("", "no point can run: " + result_.first_reason);
      return;
    }
    text_ += "\nno point keeps the limits\n";
    bool one = false;
    for (const LimitExcess& excess : result_.limits) {
      if (!excess.excludes_all) continue;
      one = true;
      paragraph("excluded by ",
                fmt::format("{}: the closest point has {} = {}, {} off", excess.limit,
                            excess.metric, shown(excess.value), off_text(excess.least)));
    }
    if (!one) contradiction();
  }

  // Each limit is kept somewhere, all together nowhere.
  void contradiction() {
    const auto& runs = result_.search.runs;
    const auto closest = std::min_element(
        runs.begin(), runs.end(),
        [&](const Candidate& a, const Candidate& b) { return better(result_.goal, a, b); });
    std::string text = "each limit alone can be kept; the closest point to all breaks";
    const char* join = " ";
    for (const PlanLimit& limit : result_.goal.limits) {
      const double excess = limit.excess(closest->metrics);
      if (excess <= 0) continue;
      text += join + limit.text + " by " + off_text(excess);
      join = " and ";
    }
    std::vector<std::string> sets = result_.space->values(closest->point);
    for (std::size_t k = 0; k < sets.size(); ++k)
      sets[k] = result_.space->keys()[k].key + "=" + sets[k];
    paragraph("", text + ", at");
    words(kIndent, words_of(sets));
  }

  const PlanResult& result_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string plan_text(const PlanResult& result, const TextOptions& options) {
  return PlanText(result, options).run();
}

}  // namespace plateau
