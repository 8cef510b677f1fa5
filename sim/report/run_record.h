// What a run leaves behind for its report: sums over its steps and requests. ReportBuilder writes
// it while the run goes on; finish_report reads it.
#pragma once

#include <algorithm>
#include <optional>

#include "sim/engine/observer.h"
#include "sim/report/goodput.h"
#include "sim/report/report_builder.h"
#include "sim/report/saturation.h"
#include "sim/report/statistics.h"

namespace plateau {

// Decode or prefill steps, summed.
struct Phase {
  std::int64_t count = 0;
  std::int64_t graph_count = 0;
  SimTime gpu{};
  SimTime host{};
  StepCost cost;
  StepShape shape;
  Distribution ms;

  void add(const StepRecord& step);

  // Seconds by part of these steps and the host gaps before them; sums to gpu + host.
  PartValues seconds() const;
};

// Everything counted up to one instant, so that two instants give the figures of the time between
// them.
struct Totals {
  SimTime at{};
  std::int64_t output_tokens = 0;
  std::int64_t requests = 0;
  std::int64_t input_tokens = 0;  // of finished requests
  std::int64_t decode_steps = 0;
  std::int64_t running = 0;  // summed over decode steps
  double joules = 0;         // one GPU
};

struct Window {
  bool started = false;
  bool ended = false;
  Totals start;
  Totals end;

  double running_at_start = 0;

  void consider(const Totals& before, bool ramp_over, bool loaded, std::int64_t running) {
    if (!started) {
      started = ramp_over;
      start = before;
      running_at_start = static_cast<double>(running);
    } else if (loaded) {
      ended = true;
      end = before;
    }
  }
  bool usable() const { return ended && end.at > start.at; }
};

// Requests that finished at one instant. They count for windows that open later, whichever of
// on_step and on_request_finished is called first.
struct Finished {
  SimTime at{};
  std::int64_t requests = 0;
  std::int64_t input_tokens = 0;
};

// A step that delivered no token.
struct HeldStep {
  StepRecord record;
  StepShape shape;
  StepCost cost;
};

struct RunRecord {
  explicit RunRecord(const ReportContext& c)
      : context(c), goodput(c.limits), meter(c.power.idle.value), series(c.series_points) {}

  ReportContext context;
  Phase decode;
  Phase prefill;
  Totals totals;
  Finished pending;
  std::vector<HeldStep> held;  // since the last token
  Window waves;
  Window any_step;
  bool prefilled = false;  // since the last decode-only step
  bool admitted = false;
  bool seen_step = false;
  std::optional<SimTime> first_sent;
  SimTime last_token{};
  std::int64_t finished = 0;  // pending ones included
  std::int64_t finished_input = 0;
  std::int64_t finished_output = 0;
  SimTime latency_sum{};
  std::int64_t first_wave = 0;
  std::int64_t running_peak = 0;
  std::int64_t queue_peak = 0;
  double queue_seconds = 0;  // integral of the queue over time
  std::int64_t mixed = 0;
  std::int64_t full_prefills = 0;
  SimTime queued_time{};  // decode time with a queue, and integrals over it
  double queued_running = 0;
  double queued_waiting = 0;
  SimTime capped{};
  std::int64_t kv_peak = 0;
  RetractionReport retractions;
  Distribution ttft, tpot, itl, e2e;
  Goodput goodput;
  Backlog backlog;
  PowerMeter meter;
  TimeSeries series;
  // Over all replicas at one instant; with one replica the same as above.
  std::int64_t running_peak_sum = 0;
  std::int64_t queue_peak_sum = 0;
  std::int64_t kv_peak_sum = 0;
  // With several replicas this record holds the sums over them; `context.replicas` are in it.
  int replicas() const { return context.replicas; }

  SimTime wall() const { return last_token - first_sent.value_or(SimTime{}); }
  SimTime busy() const { return decode.gpu + decode.host + prefill.gpu + prefill.host; }
  SimTime all_wall() const { return wall() * replicas(); }
  SimTime idle() const { return std::max(SimTime{}, all_wall() - busy()); }
  // = all_wall, unless steps of a replica overlap
  double seconds() const { return to_seconds(busy() + idle()); }
};

// sim/report/finish_report.cpp
Report finish_report(const RunRecord& run);

// sim/report/replicas.cpp: the whole's record and those of its replicas to one report.
Report finish_replicas(RunRecord& whole, std::vector<RunRecord*> replicas);

}  // namespace plateau
