// `plateau plan`: the best configuration of a scenario under limits.
#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <thread>

#include "calibration/csv.h"
#include "sim/cli/commands.h"
#include "sim/plan/plan.h"

namespace plateau {

namespace {

// "simulated 31 of 48 points of this round, 131 in all"
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream* err) : err_(err), next_(Clock::now() + kFirst) {}
  ~ProgressLine() {
    if (width_ > 0) *err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const PlanProgress& progress) {
    ++done_[progress.what];
    const Clock::time_point now = Clock::now();
    if (err_ == nullptr || now < next_) return;
    next_ = now + kEvery;
    std::string line = std::string(progress.what) + " " + std::to_string(progress.done) + " of " +
                       std::to_string(progress.total) + " points";
    if (done_[progress.what] > progress.done)
      line += " of this round, " + std::to_string(done_[progress.what]) + " in all";
    const std::size_t width = line.size();
    if (width < width_) line.append(width_ - width, ' ');
    width_ = width;
    *err_ << '\r' << line << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kFirst{1000};
  static constexpr std::chrono::milliseconds kEvery{200};

  std::ostream* err_;
  Clock::time_point next_;
  std::map<std::string, std::int64_t> done_;
  std::size_t width_ = 0;
};

}  // namespace

int plan_command(const PlanArguments& arguments, const Terminal& terminal) {
  PlanRequest request;
  request.scenario = arguments.scenario;
  request.options = scenario_options(arguments.common, terminal);
  request.space.vary = arguments.vary;
  request.space.way = arguments.random > 0 ? SpaceRequest::Way::random : SpaceRequest::Way::grid;
  request.space.samples = arguments.random;
  request.goal = {arguments.maximise, arguments.minimise, arguments.limits};
  if (arguments.exhaustive) request.search.exhaustive = PointSpace::kMostPoints;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  request.threads = arguments.threads > 0 ? arguments.threads : cores;
  request.repetitions = arguments.repetitions;
  request.best = arguments.best;
  PlanResult result;
  {
    ProgressLine line(terminal.interactive && !arguments.common.quiet ? terminal.err : nullptr);
    request.progress = [&line](const PlanProgress& progress) { line.show(progress); };
    result = plan(request);
  }
  const CommonOptions& common = arguments.common;
  if (refused(result.warnings, common, terminal)) return kRefused;
  if (!arguments.html.empty()) write_file(arguments.html, plan_page(request, result));
  if (!common.json.empty()) write_json(plan_json(request, result), common.json, terminal);
  if (common.quiet) result.warnings.clear();  // of the page; JSON keeps them
  if (common.json != "-") *terminal.out << plan_text(result, text_options(terminal));
  return result.best.empty() ? kMissed : kDone;
}

}  // namespace plateau
