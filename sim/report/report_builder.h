// Watches a run and writes its Report: one pass, memory bounded whatever the number of tokens.
//
//   ReportBuilder builder(context);
//   Simulation(scheduler, client, timer, host, {&builder}).run();
//   Report report = builder.finish();
//
// Time. Wall time T runs from the first send to the last token; what runs later (an overlapping
// scheduler's step for requests that have just ended) is left out. Steps and host gaps are what the
// records say, in integer nanoseconds; the rest of T is idle, so the time shares sum to 1. A step's
// parts are priced in doubles and scaled by simulated over priced time, a factor that differs from
// 1 only by the rounding of each step to a nanosecond; if by more, the report warns.
//
// Energy. E = joules of the steps + host gaps x host-gap watts + idle x idle watts. Mean power is
// E / T.
//
// Steady state. It starts at the second wave's first decode step: the first decode-only step after
// a prefill once as many requests have finished as the first wave held and one mean request
// lifetime has passed. It ends at the last such step at which requests still waited or, closed
// loop, 95 % of the clients were in the engine or 98 % of the batch it started with was running
// (open loop: the last such step, which follows the last admission). Both ends lie at the same
// phase of a wave, so whole cycles of prefill and decode are counted. A run that always mixes
// prefill into decode has no such steps: any decode step beside a prefill will do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/observer.h"
#include "sim/report/report.h"

namespace plateau {

// What records cannot tell.
struct ReportContext {
  Subject subject;                          // its `gpus` multiplies power and energy
  PowerStates power;                        // watts of idle time and host gaps
  DeviceSpec device;                        // roofs and the board's power limit
  std::optional<double> power_cap_w;        // a limit below the board's own
  Source host_source = Source::assumed;     // of the host gaps' length
  int clients = 0;                          // closed loop; 0: open loop
  std::int64_t max_running_requests = 0;    // 0: none
  std::int64_t prefill_token_budget = 0;    // per prefill step; 0: none
  std::int64_t largest_captured_batch = 0;  // 0: no graphs
  double weights_bytes = 0;                 // one GPU; 0: unknown
  KvReport kv;                              // but its peak
  std::vector<CurvePoint> decode_curve;     // ascending in running
  ProvenanceReport provenance;              // but its shares
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> definitions;  // beside the builder's own
  int series_points = 0;                                         // 0: no series

  // How full the experts are when `tokens` enter a layer; empty: a dense model.
  std::function<ExpertsReport(double tokens)> experts;
  // The operations of a step and their price, asked once for the mean decode and the mean prefill
  // step; empty: the binding constraint falls back on parts alone.
  std::function<std::vector<OpLine>(const StepShape&)> price;
};

class ReportBuilder : public Observer {
 public:
  explicit ReportBuilder(const ReportContext& context);
  ~ReportBuilder() override;

  void on_step(const StepRecord& step) override;
  void on_request_finished(const RequestRecord& request) override;
  void on_retraction(const RetractionRecord& retraction) override;
  void on_end(SimTime last_token) override;

  Report finish();  // once, after on_end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plateau
