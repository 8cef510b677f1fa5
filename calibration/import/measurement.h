// What was read from the logs, traces and result files of one measured run: facts that stand once
// (pool size, model), series of records, and per file what was recognised, ignored and why.
//
// Every number keeps the file and the line it came from. Facts keep all statements in file order;
// the first one is the value of a name, because a value must not change with what is appended to a
// log later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/import/series.h"

namespace plateau::imports {

struct Fact {
  std::string name;  // carries its unit: kv_capacity_tokens, weights_gib
  std::optional<double> number;
  std::string text;  // when it is not a number
  int file = 0;
  std::int64_t line = 0;
  std::string rank;        // "DP0 TP3" where the source says so
  bool preferred = false;  // the line that sums up: its value goes before earlier ones of the name
};

// A value that follows from several lines together, with how.
struct Derived {
  std::string name;
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  std::string why;
  int file = 0;
};

struct Ignored {
  std::string what;
  std::int64_t count = 0;
  std::int64_t first_line = 0;
};

// How the source states its time.
enum class Clock : std::uint8_t {
  none,
  epoch,    // seconds since 1970-01-01 UTC: column epoch_s
  local,    // date and time of an unstated zone, counted as if UTC: column local_s
  no_year,  // month, day, time: seconds since 1 January of a leap year: column year_s
  run,      // seconds since the start of the run: column run_s
};
const char* column_of(Clock clock);

struct FileReport {
  std::string file;
  std::string kind;       // "sglang_log", "nvidia_smi_csv", ...: kinds() lists them
  std::string engine;     // "sglang", "vllm" or ""
  std::string era;        // format version
  std::int64_t rows = 0;  // records from which at least one value was taken, facts included
  std::vector<Ignored> ignored;
  std::vector<std::string> warnings;
  Clock clock = Clock::none;
  std::optional<double> first_s;
  std::optional<double> last_s;
  int gpus = 0;  // GPUs or ranks that left a row; 0: not stated
};

class Measurement {
 public:
  std::vector<FileReport> files;
  std::vector<Fact> facts;
  std::vector<Derived> derived;
  std::map<std::string, Series> series;

  const Fact* fact(std::string_view name) const;  // the first preferred, else the first, or nullptr
  const Series* find(std::string_view name) const;
};

// What an importer writes to: one file's share of a Measurement.
class Recorder {
 public:
  Recorder(Measurement& measurement, int file) : measurement_(measurement), file_(file) {}

  FileReport& report() { return measurement_.files[static_cast<std::size_t>(file_)]; }
  Measurement& measurement() { return measurement_; }
  int file() const { return file_; }

  Series& series(std::string_view name);
  void fact(std::string_view name, double number, std::int64_t line, std::string_view rank = "",
            bool preferred = false);
  void fact_text(std::string_view name, std::string_view text, std::int64_t line,
                 std::string_view rank = "");
  void derive(Derived derived) {
    derived.file = file_;
    measurement_.derived.push_back(std::move(derived));
  }
  void row() { ++report().rows; }
  void ignore(std::string_view what, std::int64_t line, std::int64_t count = 1);
  // A line of a server's log that holds nothing to take. What another tool printed into it is
  // pointed at, because it would be read from a file of its own.
  void other_message(std::string_view text, std::int64_t line);
  // "file:line: message"; line 0 for the whole file.
  void warn(std::int64_t line, const std::string& message);
  void time(Clock clock, double seconds);
  [[noreturn]] void fail(std::int64_t line, std::string message, std::string hint) const;

 private:
  Measurement& measurement_;
  int file_;
};

// Notices a clock that goes back: two runs in one file, or a clock that was set. Neighbouring lines
// of several ranks may stand a little out of order, hence the slack.
class ClockWatch {
 public:
  void see(double seconds, std::int64_t line);
  void finish(Recorder& recorder) const;
  bool went_back() const { return times_ > 0; }
  // True once after each step back.
  bool take_step_back() { return std::exchange(stepped_, false); }

 private:
  static constexpr double kSlackSeconds = 2;
  std::optional<double> latest_;
  std::int64_t times_ = 0;
  std::int64_t first_line_ = 0;
  double first_step_s_ = 0;
  bool stepped_ = false;
};

}  // namespace plateau::imports
