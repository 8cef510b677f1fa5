// The subcommands of `plateau`, one file each, and what they have in common. command_line.cpp and
// the options_*.cpp turn words into these structs; nothing else knows how the words are spelled.
//
// A command returns its exit code; a bad input leaves as InputError, our own fault as any other
// exception.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

enum ExitCode : int {
  kDone = 0,
  kOurFault = 1,
  kBadInput = 2,  // the scenario, a table or the command line
  kRefused = 3,   // --strict met a warning
  kMissed = 4     // an answer that does not meet what was asked
};

// Where a command reads and writes; tests hand it strings.
struct Terminal {
  std::string data_dir;      // folder that holds models/specs and calibration/data
  std::ostream* out;         // results
  std::ostream* err;         // problems, warnings, progress
  bool interactive = false;  // somebody watches `err`: progress may be shown
  bool colour = false;       // somebody watches `out` and has not set NO_COLOR
  bool among_ranks = false;  // one of several processes that mpirun or srun started
};

struct CommonOptions {
  std::vector<std::string> sets;      // --set key=value
  std::optional<std::uint64_t> seed;  // --seed
  std::string json;                   // --json: "" no, "-" to the standard output, else a file
  bool strict = false;                // a warning is a refusal
  bool quiet = false;                 // no warnings, no progress
};

struct RunArguments {
  std::string scenario;
  std::string html;          // file; "": no page
  std::string trace;         // file; "": no trace
  std::string requests_csv;  // a row per request; "": no
  bool ladder = false;       // relax every limit and run again
  CommonOptions common;
};
int run_command(const RunArguments& arguments, const Terminal& terminal);

struct StepArguments {
  std::string scenario;
  int batch = 1;
  int context = 0;       // tokens each request holds; prefill: tokens of each prompt
  bool prefill = false;  // a prefill step of `batch` prompts
  CommonOptions common;
};
int step_command(const StepArguments& arguments, const Terminal& terminal);

struct SweepArguments {
  std::string scenario;
  std::vector<std::string> vary;  // key=values
  std::string points;             // CSV of points, instead of --vary
  bool zip = false;
  std::int64_t random = 0;  // sample sizes; 0: no sample
  std::int64_t latin = 0;
  std::uint64_t sample_seed = 1;
  int threads = 0;      // 0: every core; under MPI one a rank
  int repetitions = 0;  // --intervals
  std::string csv;      // file or "-"
  std::string json_lines;
  std::string html;
  CommonOptions common;
};
int sweep_command(const SweepArguments& arguments, const Terminal& terminal);

struct ExplainArguments {
  std::string scenario_a;
  std::string scenario_b;
  std::vector<std::string> sets_a;  // --set-a, --set-b: beside --set, which counts for both
  std::vector<std::string> sets_b;
  CommonOptions common;
};
int explain_command(const ExplainArguments& arguments, const Terminal& terminal);

struct PlanArguments {
  std::string scenario;
  std::vector<std::string> vary;  // key=values; empty: a space derived from the scenario
  std::int64_t random = 0;        // sample size of a large space
  std::string maximise;
  std::string minimise;
  std::vector<std::string> limits;
  bool exhaustive = false;
  int best = 5;
  std::string html;
  int threads = 0;
  int repetitions = 0;
  CommonOptions common;
};
int plan_command(const PlanArguments& arguments, const Terminal& terminal);

struct ListArguments {
  std::string what;  // "" all
  std::string json;
};
int list_command(const ListArguments& arguments, const Terminal& terminal);

struct CalibrateArguments {
  // From the logs of a deployment
  std::string scenario;
  std::vector<std::string> measured;  // files
  std::vector<std::string> columns;   // names with units, for monitor CSV without a header
  std::vector<std::string> offsets;   // FILE=SECONDS to add to a file's clock
  std::optional<double> utc_offset_h;
  std::string name;  // of the profile; "": after the scenario
  std::string out;   // scenario that uses it; "": none
  std::string svg;
  CommonOptions common;  // sets, json, strict, quiet
  // From kernel tables
  std::string tables;  // folder
  std::string system;  // folder of the tables that holds this device
  std::string engine;
  std::string nccl;
  std::string borrow_from;
  std::string device;
  std::string into;  // folder of profiles; "": the shipped ones
  std::string source;
  std::string licence;
  std::string date;
  std::string power_runs;  // CSV of runs; then no tables
  std::string cap_sweep;   // CSV of runs at several power limits; then no tables
  std::string hold_out = "workload";
  std::vector<std::string> where;  // column=value
};
int calibrate_command(const CalibrateArguments& arguments, const Terminal& terminal);
// Of which there are three: --measured, --power-runs or --cap-sweep, a folder of tables.
int calibrate_measured_command(const CalibrateArguments& arguments, const Terminal& terminal);
int calibrate_power_command(const CalibrateArguments& arguments, const Terminal& terminal);
int calibrate_tables_command(const CalibrateArguments& arguments, const Terminal& terminal);

struct ValidateArguments {
  std::vector<std::string> measured;  // scenarios, folders of them; or one CSV
  std::string base;                   // scenario, of a CSV
  std::vector<std::string> bars;      // metric=percent
  std::string svg;                    // predicted against measured
  CommonOptions common;
};
int validate_command(const ValidateArguments& arguments, const Terminal& terminal);

struct ImportArguments {
  std::vector<std::string> files;
  std::vector<std::string> columns;  // names with units, for monitor CSV without a header
  std::string out;                   // measurement file; "": measurement.csv unless --json is given
  CommonOptions common;              // json, strict, quiet
};
int import_command(const ImportArguments& arguments, const Terminal& terminal);

struct ScenarioArguments {
  std::string command;  // launch commands, or a file that holds them
  std::string bench;    // the same of the benchmark alone; "": `command` holds it, or nobody does
  std::string device;
  std::string engine_version;
  std::string out;
  CommonOptions common;  // json, strict, quiet
};
int scenario_command(const ScenarioArguments& arguments, const Terminal& terminal);

// The whole command line, problems printed, exceptions turned into exit codes.
int run_command_line(const std::vector<std::string>& words, const Terminal& terminal);

// What several commands do the same way (common.cpp).
ScenarioOptions scenario_options(const CommonOptions& common, const Terminal& terminal);

TextOptions text_options(const Terminal& terminal);

// Tells the warnings under --strict, unless there are none: then the answer is refused.
bool refused(const std::vector<std::string>& warnings, const CommonOptions& common,
             const Terminal& terminal);

// Writes a result where --json says.
void write_json(const std::string& json, const std::string& where, const Terminal& terminal);

}  // namespace plateau
