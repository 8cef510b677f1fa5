// A measured step trace (phase, start_s, requests, tokens, ms) as the log an SGLang server would
// have written of it: a prefill line per prefill, a decode line every `interval` decode steps.
//
// As in the engine, "gen throughput" is the tokens decoded since the decode line before over the
// time since it, prefills and idle included. The engine of the traces works on the host between
// steps, SGLang behind the GPU: HostTime::hidden leaves the time between steps out, HostTime::shown
// keeps the trace's own clock. Times have milliseconds, as with SGLANG_LOG_MS; the tokens held are
// the trace's own.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "calibration/csv.h"

namespace plateau::test {

struct TraceStep {
  bool decode = false;
  double start_s = 0;
  int requests = 0;
  double tokens = 0;
  double ms = 0;
};

inline std::vector<TraceStep> read_trace(const std::string& path) {
  const CsvTable table = CsvTable::read(path);
  std::vector<TraceStep> steps;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    steps.push_back({table.text(row, table.column("phase")) == "decode",
                     table.number(row, table.column("start_s")),
                     static_cast<int>(table.number(row, table.column("requests"))),
                     table.number(row, table.column("tokens")),
                     table.number(row, table.column("ms"))});
  }
  return steps;
}

// "2026-11-30 10:00:00.000" plus seconds, within the day.
inline std::string log_time(double seconds, bool milliseconds = true) {
  const auto ms = static_cast<long>(std::lround(1e3 * seconds)) + 10 * 3600 * 1000;
  char text[40];
  std::snprintf(text, sizeof text, "2026-11-30 %02ld:%02ld:%02ld", ms / 3600000, ms / 60000 % 60,
                ms / 1000 % 60);
  std::string result = text;
  if (milliseconds) {
    std::snprintf(text, sizeof text, ".%03ld", ms % 1000);
    result += text;
  }
  return result;
}

inline std::string decode_line(double at_s, int running, double tokens, double pool,
                               double throughput, bool graph = true, bool milliseconds = true) {
  char text[300];
  std::snprintf(text, sizeof text,
                "[%s TP0] Decode batch, #running-req: %d, #token: %.0f, token usage: %.2f, cuda "
                "graph: %s, gen throughput (token/s): %.2f, #queue-req: 0\n",
                log_time(at_s, milliseconds).c_str(), running, tokens, tokens / pool,
                graph ? "True" : "False", throughput);
  return text;
}

inline std::string prefill_line(double at_s, int sequences, double tokens, int running,
                                bool milliseconds = true) {
  char text[300];
  std::snprintf(text, sizeof text,
                "[%s TP0] Prefill batch, #new-seq: %d, #new-token: %.0f, #cached-token: 0, token "
                "usage: 0.10, #running-req: %d, #queue-req: 0\n",
                log_time(at_s, milliseconds).c_str(), sequences, tokens, running);
  return text;
}

enum class HostTime { hidden, shown };

inline std::string sglang_log_of(const std::vector<TraceStep>& steps, int interval, HostTime host,
                                 double pool = 65536) {
  std::string log;
  int since = 0;
  double generated = 0;
  double clock_s = 0;
  double last_s = 0;
  int running = 0;
  for (const TraceStep& step : steps) {
    if (host == HostTime::shown) clock_s = step.start_s;
    if (!step.decode) log += prefill_line(clock_s, step.requests, step.tokens, running);
    clock_s += step.ms / 1e3;
    if (!step.decode) continue;
    running = step.requests;
    generated += step.requests;
    if (++since < interval) continue;
    log += decode_line(clock_s, step.requests, step.tokens, pool, generated / (clock_s - last_s));
    since = 0;
    generated = 0;
    last_s = clock_s;
  }
  return log;
}

}  // namespace plateau::test
