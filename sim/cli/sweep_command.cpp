// `plateau sweep`: a scenario at many points, a row each.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>

#include "calibration/csv.h"
#include "sim/cli/commands.h"
#include "sim/cli/point_progress.h"
#include "sim/sweep/ranks.h"
#include "sim/sweep/row_store.h"
#include "sim/sweep/sweep_output.h"
#include "sim/sweep/sweep_page.h"

namespace plateau {

namespace {

constexpr int kMostRowsShown = 40;

[[noreturn]] void refuse(const std::string& key, const std::string& message,
                         const std::string& hint) {
  throw InputError(Problem{"", 0, 0, key, message, hint});
}

SweepRequest request_of(const SweepArguments& arguments, const Terminal& terminal) {
  using Way = SpaceRequest::Way;
  SweepRequest request;
  request.scenario = arguments.scenario;
  request.options = scenario_options(arguments.common, terminal);
  request.repetitions = arguments.repetitions;
  SpaceRequest& space = request.space;
  space.vary = arguments.vary;
  space.points_file = arguments.points;
  space.samples = arguments.random > 0 ? arguments.random : arguments.latin;
  space.seed = arguments.sample_seed;
  space.way = arguments.zip               ? Way::zip
              : !arguments.points.empty() ? Way::list
              : arguments.random > 0      ? Way::random
              : arguments.latin > 0       ? Way::latin_hypercube
                                          : Way::grid;
  return request;
}

// The output that the file of an interrupted sweep stands beside; "" when all go to streams.
std::string anchor_of(const SweepArguments& arguments) {
  namespace fs = std::filesystem;
  for (const std::string& path :
       {arguments.csv, arguments.json_lines, arguments.common.json, arguments.html}) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (path.empty() || path == "-") continue;
    if (!fs::exists(status) || fs::is_regular_file(status)) return path;
  }
  return "";
}

void compute(Sweep& sweep, RowStore& rows, Ranks* ranks, int threads, PointProgress& progress) {
  const auto put = [&](std::int64_t point, std::string line) {
    rows.put(point, std::move(line));
    progress.add();
  };
  if (ranks != nullptr) {
    ranks->hand_out(sweep, rows.missing(), threads, put);
  } else {
    compute_rows(sweep, rows.missing(), threads, put);
  }
}

bool refuses_warnings(const Sweep& sweep, const RowStore& rows, const SweepArguments& arguments,
                      const Terminal& terminal) {
  if (!arguments.common.strict) return false;
  const auto& columns = sweep.columns();
  const auto column = std::find(columns.begin(), columns.end(), "warnings") - columns.begin();
  std::int64_t warned = 0;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const SweepRow row = row_of(rows.line(i));
    warned += row.ok && row.cells[static_cast<std::size_t>(column)] != "0" ? 1 : 0;
  }
  return warned > 0 && refused({std::to_string(warned) + " points have warnings (`plateau run` "
                                                         "shows them)"},
                               arguments.common, terminal);
}

int write(const Sweep& sweep, RowStore& rows, const SweepArguments& arguments,
          const Terminal& terminal) {
  if (refuses_warnings(sweep, rows, arguments, terminal)) return kRefused;
  bool streamed = false;
  const auto put = [&](const std::string& where,
                       std::string (*form)(const Sweep&, const RowStore&)) {
    if (where.empty()) return;
    write_json(form(sweep, rows), where, terminal);
    streamed = streamed || where == "-";
  };
  put(arguments.csv, sweep_csv);
  put(arguments.json_lines, sweep_json_lines);
  put(arguments.common.json, sweep_json);
  put(arguments.html, sweep_page);
  rows.remove_file();
  const bool filed = !anchor_of(arguments).empty();
  if (!streamed) *terminal.out << sweep_text(sweep, rows, filed ? 0 : kMostRowsShown);
  return infeasible_rows(rows) == rows.size() ? kMissed : kDone;
}

int sweep_alone(const SweepArguments& arguments, const Terminal& terminal, Ranks* ranks) {
  Sweep sweep(request_of(arguments, terminal));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int threads = arguments.threads > 0 ? arguments.threads : ranks != nullptr ? 1 : cores;
  if (ranks != nullptr && ranks->rank() > 0) {
    ranks->serve(sweep, threads);
    return kDone;
  }
  const std::string anchor = anchor_of(arguments);
  const auto rows = anchor.empty()
                        ? std::make_unique<RowStore>(sweep.space().size())
                        : std::make_unique<RowStore>(anchor + ".partial", sweep.fingerprint(),
                                                     sweep.space().size());
  {
    const bool shown = terminal.interactive && !arguments.common.quiet;
    PointProgress progress(shown ? terminal.err : nullptr, rows->done(), rows->size());
    compute(sweep, *rows, ranks, threads, progress);
  }
  return write(sweep, *rows, arguments, terminal);
}

}  // namespace

int sweep_command(const SweepArguments& arguments, const Terminal& terminal) {
  if (!terminal.among_ranks) return sweep_alone(arguments, terminal, nullptr);
  if (!Ranks::built_in()) {
    refuse("sweep", "is one of several processes of an MPI run, but this plateau has no MPI",
           "build it with cmake -DPLATEAU_MPI=ON, or start one process");
  }
  Ranks ranks;
  try {
    return sweep_alone(arguments, terminal, &ranks);
  } catch (const InputError&) {
    if (ranks.rank() == 0) throw;
    return kBadInput;  // rank 0 says why
  }
}

}  // namespace plateau
