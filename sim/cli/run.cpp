// `plateau run`: a scenario, simulated and reported.
#include "sim/deployment/run.h"

#include <memory>
#include <ostream>

#include "calibration/csv.h"
#include "sim/cli/commands.h"
#include "sim/cli/progress.h"
#include "sim/deployment/page_data.h"
#include "sim/ladder/ladder.h"
#include "sim/report/latency_histograms.h"
#include "sim/report/trace_writer.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

namespace {

struct Result {
  Report report;
  std::string html;                    // "" unless asked for
  std::unique_ptr<TraceWriter> trace;  // not closed yet; none unless asked for
};

std::unique_ptr<TraceWriter> trace_writer(const std::string& path, const Deployment& deployment) {
  if (path.empty()) return nullptr;
  TraceOptions options;
  options.path = path;
  options.title = deployment.scenario().model.name + ", " + deployment.engine().scheduler;
  const PowerStates power = deployment.profile().power_states();
  options.idle_w = power.idle.value;
  options.host_gap_w = power.host_gap.value;
  return std::make_unique<TraceWriter>(options);
}

Result simulate(const RunArguments& arguments, const Scenario& scenario,
                const Terminal& terminal) try {
  Deployment deployment(scenario, terminal.data_dir);
  RunOptions options;
  std::unique_ptr<Progress> progress;
  if (terminal.interactive && !arguments.common.quiet) {
    progress = std::make_unique<Progress>(terminal.err, scenario.workload.requests);
    options.observers.push_back(progress.get());
  }
  Result result;
  result.trace = trace_writer(arguments.trace, deployment);
  if (result.trace) options.observers.push_back(result.trace.get());
  LatencyHistograms latencies;
  if (!arguments.html.empty()) {
    options.series_points = kPageSeriesPoints;
    options.observers.push_back(&latencies);
  }
  result.report = run(deployment, options);
  if (!arguments.html.empty())
    result.html = report_html(result.report, page_data(deployment, result.report, &latencies));
  result.report.series.clear();  // the same JSON with and without a page
  return result;
} catch (const InputError& error) {
  throw located(error, scenario);
}

}  // namespace

int run_command(const RunArguments& arguments, const Terminal& terminal) {
  const CommonOptions& common = arguments.common;
  const Scenario scenario = read_scenario(arguments.scenario, scenario_options(common, terminal));
  Result result = simulate(arguments, scenario, terminal);
  Report& report = result.report;
  if (refused(report.warnings, common, terminal)) return kRefused;
  if (result.trace) result.trace->close();
  if (!arguments.html.empty()) write_file(arguments.html, result.html);
  if (arguments.ladder) add_ladder(arguments.scenario, scenario_options(common, terminal), &report);
  if (!common.json.empty()) write_json(report_json(report), common.json, terminal);
  if (common.quiet) report.warnings.clear();  // of the page; JSON keeps them
  if (common.json != "-") *terminal.out << report_text(report, text_options(terminal));
  return kDone;
}

}  // namespace plateau
