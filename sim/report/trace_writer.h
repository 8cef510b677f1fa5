// A run as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open: the JSON Trace Event
// Format.
//
//   process "engine"    one track: a slice per step, inside it a slice per part of its cost in the
//                       order of a layer; host gaps between. Counters: running, queued, KV tokens,
//                       watts of one GPU
//   process "requests"  one asynchronous slice per request: queued, prefill, decode
//
// Times are microseconds with three decimals, which is the simulation's nanosecond. A step's parts
// stand behind each other although the layers interleave them: a part's length is its sum over
// layers. A step hands over no list of its requests, so `prefill` is the last prefill step before a
// request's first token: earlier chunks of its prompt count as queued, and what follows a
// retraction as decode.
//
// Bounded: the first `requests` requests to be sent and the first `steps` steps are drawn; how many
// were left out stands in otherData. Events go to a temporary file, which close() renames; a run
// that is interrupted leaves no file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/engine/observer.h"

namespace plateau {

struct TraceOptions {
  std::string path;
  std::string title;  // names the engine's process
  double idle_w = 0;  // one GPU with nothing to run, and in host gaps
  double host_gap_w = 0;
  std::int64_t requests = 2000;
  std::int64_t steps = 100'000;
};

class TraceWriter : public Observer {
 public:
  explicit TraceWriter(const TraceOptions& options);  // throws InputError when it cannot write
  ~TraceWriter() override;                            // removes what close() has not renamed
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void on_step(const StepRecord& step) override;
  void on_request_finished(const RequestRecord& request) override;
  void on_retraction(const RetractionRecord& retraction) override;

  void close();  // once, after the run; throws InputError

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plateau
