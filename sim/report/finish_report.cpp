#include <algorithm>
#include <cmath>

#include "sim/report/binding.h"
#include "sim/report/bounds.h"
#include "sim/report/cost.h"
#include "sim/report/format.h"
#include "sim/report/load_text.h"
#include "sim/report/run_record.h"

namespace plateau {

PartValues Phase::seconds() const {
  PartValues values{};
  const double timed = to_seconds(gpu);
  if (cost.seconds > 0) {
    for (std::size_t i = 0; i < kParts; ++i)
      values[i] = cost.parts[i].seconds * (timed / cost.seconds);
  } else {
    values[static_cast<std::size_t>(Part::wait)] = timed;  // nothing priced: said in a warning
  }
  values[static_cast<std::size_t>(Part::host)] += to_seconds(host);
  return values;
}

namespace {

constexpr double kPricedAsTimed = 1e-6;  // relative: beyond the rounding of steps to nanoseconds
constexpr double kWeakShare = 0.05;      // of time, from which a weak source deserves a warning

void fill_throughput(const RunRecord& run, Report& report) {
  ThroughputReport& t = report.throughput;
  t.seconds = to_seconds(run.wall());
  t.output_tokens = run.totals.output_tokens;
  t.input_tokens = run.finished_input;
  t.requests = run.finished;
  if (t.seconds <= 0) return;
  t.output_tok_per_s = static_cast<double>(t.output_tokens) / t.seconds;
  t.total_tok_per_s = static_cast<double>(t.output_tokens + t.input_tokens) / t.seconds;
  t.requests_per_s = static_cast<double>(t.requests) / t.seconds;
  t.concurrency = to_seconds(run.latency_sum) / t.seconds;
}

void fill_steady_state(const RunRecord& run, Report& report) {
  SteadyStateReport& s = report.steady_state;
  const bool by_wave = run.waves.usable();
  const Window& window = by_wave ? run.waves : run.any_step;
  if (!window.usable()) {
    s.rule = window.started ? "none: the load fell before a second full wave of requests had run"
                            : "none: the run ended with its first wave of requests";
    return;
  }
  const Totals& a = window.start;
  const Totals& b = window.end;
  const double seconds = to_seconds(b.at - a.at);
  const SimTime sent = run.first_sent.value_or(SimTime{});
  const auto output = static_cast<double>(b.output_tokens - a.output_tokens);
  s.output_tok_per_s = output / seconds;
  s.total_tok_per_s = (output + static_cast<double>(b.input_tokens - a.input_tokens)) / seconds;
  s.requests_per_s = static_cast<double>(b.requests - a.requests) / seconds;
  s.gpu_w_mean = (b.joules - a.joules) / seconds;
  if (b.decode_steps > a.decode_steps) {
    s.running_mean = static_cast<double>(b.running - a.running) /
                     static_cast<double>(b.decode_steps - a.decode_steps);
  }
  s.start_s = to_seconds(a.at - sent);
  s.end_s = to_seconds(b.at - sent);
  s.rule = std::string(
      by_wave ? "from the second wave's first decode step to the last decode step after a prefill"
              : "from the end of the first mean request lifetime to the last decode step beside a "
                "prefill");
  s.rule += run.context.clients > 0 ? " that had a queue, all clients in the engine or a full batch"
                                    : " that admitted requests";
}

void fill_requests(const RunRecord& run, Report& report) {
  report.latency_ms = {run.ttft.spread(), run.tpot.spread(), run.itl.spread(), run.e2e.spread()};
  report.retractions = run.retractions;
  report.running.peak = run.running_peak;
  report.running.first_wave = run.first_wave;
  if (run.totals.decode_steps > 0) {
    report.running.mean =
        static_cast<double>(run.totals.running) / static_cast<double>(run.totals.decode_steps);
  }
  report.queue.peak = run.queue_peak;
  if (run.wall() > SimTime{}) report.queue.mean = run.queue_seconds / to_seconds(run.wall());
  report.kv = run.context.kv;
  report.kv.peak_used_tokens = run.kv_peak;
}

// Open loops only: a closed loop's queue is bounded by its clients.
void fill_load(const RunRecord& run, Report& report) {
  if (run.context.clients == 0 && run.finished > 0) report.saturation = run.backlog.report();
  const bool grows = report.saturation && report.saturation->grows();
  report.goodput = run.goodput.report({&run.ttft, &run.tpot, &run.itl, &run.e2e},
                                      report.throughput.seconds, grows);
}

void fill_steps(const RunRecord& run, Report& report) {
  StepStatistics& s = report.step;
  s.decode_ms = run.decode.ms.spread();
  s.prefill_ms = run.prefill.ms.spread();
  s.decode_count = run.totals.decode_steps;  // one after the last token included
  s.prefill_count = run.prefill.count;
  s.mixed_count = run.mixed;
  if (run.decode.count > 0)
    s.graph_share =
        static_cast<double>(run.decode.graph_count) / static_cast<double>(run.decode.count);
  const double seconds = run.seconds();
  if (seconds <= 0) return;
  s.decode_time_share = to_seconds(run.decode.gpu + run.decode.host) / seconds;
  s.prefill_time_share = to_seconds(run.prefill.gpu + run.prefill.host) / seconds;
  if (run.context.experts && run.decode.count > 0) {
    report.experts = run.context.experts(run.decode.shape.decode_sequences /
                                         static_cast<double>(run.decode.count));
  }
}

void fill_time(const RunRecord& run, Report& report) {
  const PartValues in_decode = run.decode.seconds();
  const PartValues in_prefill = run.prefill.seconds();
  const double all = run.seconds();
  const double decode_s = to_seconds(run.decode.gpu + run.decode.host);
  const double prefill_s = to_seconds(run.prefill.gpu + run.prefill.host);
  for (std::size_t i = 0; i < kParts; ++i) {
    if (all > 0) report.time_split[i] = (in_decode[i] + in_prefill[i]) / all;
    if (decode_s > 0) report.time_split_decode[i] = in_decode[i] / decode_s;
    if (prefill_s > 0) report.time_split_prefill[i] = in_prefill[i] / prefill_s;
  }
  if (all > 0)
    report.time_split[static_cast<std::size_t>(Part::idle)] += to_seconds(run.idle()) / all;
}

void fill_power(const RunRecord& run, Report& report) {
  const double gpus = static_cast<double>(run.context.subject.gpus) / run.replicas();  // of each
  const double wall_s = run.seconds();
  PartValues joules{};  // one GPU
  for (std::size_t i = 0; i < kParts; ++i)
    joules[i] = run.decode.cost.parts[i].joules + run.prefill.cost.parts[i].joules;
  joules[static_cast<std::size_t>(Part::host)] +=
      to_seconds(run.decode.host + run.prefill.host) * run.context.power.host_gap.value;
  joules[static_cast<std::size_t>(Part::idle)] +=
      to_seconds(run.idle()) * run.context.power.idle.value;
  double total = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    report.energy.split[i] = joules[i] * gpus;
    total += joules[i];
  }
  report.energy.j_total = total * gpus;
  if (run.totals.output_tokens > 0) {
    report.energy.j_per_output_token =
        report.energy.j_total / static_cast<double>(run.totals.output_tokens);
  }
  PowerReport& power = report.power;
  if (wall_s <= 0) return;
  power.gpu_w_mean = total / wall_s;
  power.gpu_w_each.assign(static_cast<std::size_t>(std::max(0, run.context.subject.gpus)),
                          power.gpu_w_mean);
  power.node_w = power.gpu_w_mean * run.context.subject.gpus;
  power.gpu_w_p95_meter =
      run.meter.readings().count() > 0 ? run.meter.readings().quantile(950) : run.meter.last();
  power.gpu_w_max_meter =
      run.meter.readings().count() > 0 ? run.meter.readings().max() : run.meter.last();
  power.utilization_pct =
      std::min(1.0, (run.decode.cost.busy_seconds + run.prefill.cost.busy_seconds) / wall_s) * 100;
  if (run.context.device.power_limit_w > 0)
    power.tdp_fraction = power.gpu_w_mean / run.context.device.power_limit_w;
}

void fill_interval(const RunRecord& run, Report& report) {
  const double wall_s = run.seconds();
  if (wall_s <= 0) return;
  const double outside = wall_s - to_seconds(run.decode.gpu + run.prefill.gpu);
  const double low = outside + run.decode.cost.low_seconds + run.prefill.cost.low_seconds;
  const double high = outside + run.decode.cost.high_seconds + run.prefill.cost.high_seconds;
  const double tokens = static_cast<double>(run.totals.output_tokens) * run.replicas();
  if (run.decode.cost.high_seconds + run.prefill.cost.high_seconds > 0 && low > 0) {
    report.interval.output_tok_per_s = Interval{tokens / high, tokens / low};
  }
  if (run.decode.cost.high_joules + run.prefill.cost.high_joules <= 0) return;
  const double host_s = to_seconds(run.decode.host + run.prefill.host);
  const double idle_s = to_seconds(run.idle());
  const PowerStates& p = run.context.power;
  report.interval.gpu_w_mean =
      Interval{(run.decode.cost.low_joules + run.prefill.cost.low_joules + host_s * p.host_gap.low +
                idle_s * p.idle.low) /
                   wall_s,
               (run.decode.cost.high_joules + run.prefill.cost.high_joules +
                host_s * p.host_gap.high + idle_s * p.idle.high) /
                   wall_s};
  const double mean = report.power.gpu_w_mean;
  if (mean > 0)
    report.power.band = std::max(report.interval.gpu_w_mean->high / mean - 1,
                                 1 - report.interval.gpu_w_mean->low / mean);
}

void fill_provenance(const RunRecord& run, Report& report) {
  report.provenance = run.context.provenance;
  SourceShares seconds{};
  double sum = 0;
  for (std::size_t i = 0; i < kSources; ++i) {
    seconds[i] = run.decode.cost.source_seconds[i] + run.prefill.cost.source_seconds[i];
    if (i == static_cast<std::size_t>(run.context.host_source))
      seconds[i] += to_seconds(run.decode.host + run.prefill.host);
    sum += seconds[i];
  }
  for (std::size_t i = 0; i < kSources; ++i)
    report.provenance.shares[i] = sum > 0 ? seconds[i] / sum : 0;
}

StepShape mean_of(const StepShape& sum, double count, bool graph) {
  return {sum.decode_sequences / count,      sum.decode_padded / count,
          sum.decode_context_tokens / count, sum.prefill_sequences / count,
          sum.prefill_tokens / count,        sum.prefill_context_tokens / count,
          sum.prefill_attended / count,      graph};
}

// Shares of wall time by roof: the kernels' parts of decode and of prefill, each split as its mean
// step is.
RoofShares roofs_of(const RunRecord& run) {
  RoofShares shares{};
  const double wall_s = run.seconds();
  if (wall_s <= 0) return shares;
  for (const bool in_decode : {true, false}) {
    const Phase& phase = in_decode ? run.decode : run.prefill;
    if (phase.count == 0) continue;
    std::vector<OpLine> lines;
    if (run.context.price) {
      const bool graph = 2 * phase.graph_count > phase.count;
      lines = run.context.price(mean_of(phase.shape, static_cast<double>(phase.count), graph));
    }
    const auto by_part = roofs_of(lines, run.context.device, in_decode);
    const PartValues seconds = phase.seconds();
    for (std::size_t part = 0; part < kParts; ++part) {
      for (std::size_t roof = 0; roof < kRoofs; ++roof)
        shares[roof] += by_part[part][roof] * seconds[part] / wall_s;
    }
  }
  return shares;
}

void fill_binding(const RunRecord& run, Report& report) {
  BindingInput input;
  input.clients = (run.context.clients + run.replicas() - 1) / run.replicas();
  const double queued_s = to_seconds(run.queued_time);
  if (queued_s > 0) {
    input.queue = {queued_s / to_seconds(run.decode.gpu), run.queued_running / queued_s,
                   run.queued_waiting / queued_s, 0};
  }
  const std::int64_t prefills = run.prefill.count + run.mixed;
  if (prefills > 0)
    input.queue.prefill_full_share =
        static_cast<double>(run.full_prefills) / static_cast<double>(prefills);
  input.running_mean = report.steady_state.running_mean.value_or(report.running.mean);
  input.running_peak = run.running_peak;
  input.max_running_requests = run.context.max_running_requests;
  input.largest_captured_batch = run.context.largest_captured_batch;
  input.prefill_token_budget = run.context.prefill_token_budget;
  input.kv = report.kv;
  input.retractions = run.retractions;
  input.time_split = report.time_split;
  input.decode_time_share = report.step.decode_time_share;
  input.graph_share = report.step.graph_share;
  input.roofs = roofs_of(run);
  const double wall_s = run.seconds();
  if (wall_s > 0) input.capped_share = to_seconds(run.capped) / wall_s;
  input.decode_curve = run.context.decode_curve;
  report.binding = binding_of(input);
  report.decode_curve = run.context.decode_curve;
}

void fill_bounds(const RunRecord& run, Report& report) {
  BoundsInput input;
  if (run.context.price && run.decode.count > 0) {
    const bool graph = 2 * run.decode.graph_count > run.decode.count;
    input.decode_lines =
        run.context.price(mean_of(run.decode.shape, static_cast<double>(run.decode.count), graph));
  }
  input.device = run.context.device;
  input.power_cap_w = run.context.power_cap_w.value_or(0);
  input.clients = run.context.clients;
  input.replicas = run.context.replicas;
  input.weights_bytes = run.context.weights_bytes;
  report.bounds = bounds_of(report, input);
}

void fill_warnings(const RunRecord& run, Report& report) {
  report.warnings = run.context.warnings;
  const auto warn = [&](std::string text) { report.warnings.push_back(std::move(text)); };
  const double timed = to_seconds(run.decode.gpu + run.prefill.gpu);
  const double priced = run.decode.cost.seconds + run.prefill.cost.seconds;
  const auto steps = static_cast<double>(run.decode.count + run.prefill.count);
  if (std::abs(timed - priced) > kPricedAsTimed * timed + steps * 1e-9) {
    warn("steps took " + compact(timed) + " s but their parts add up to " + compact(priced) +
         " s; the time split is scaled");
  }
  for (const Bound& bound : report.bounds) {
    if (!bound.holds)
      warn("breaks the bound " + bound.name + ": " + bound.rule + ", but " + compact(bound.value) +
           " > " + compact(bound.limit));
  }
  if (run.busy() > run.all_wall())
    warn("steps overlap: they add up to more than the run's wall time");
  if (run.totals.output_tokens != run.finished_output) {
    warn("steps delivered " + grouped(static_cast<double>(run.totals.output_tokens)) +
         " tokens, finished requests hold " + grouped(static_cast<double>(run.finished_output)));
  }
  if (report.saturation && report.saturation->grows()) warn(growth_text(*report.saturation));
  for (const Source source : {Source::extrapolated, Source::roofline, Source::assumed}) {
    const double share = report.provenance.shares[static_cast<std::size_t>(source)];
    if (share >= kWeakShare)
      warn(percent(share) + " of the time is " + name_of(source) +
           ", not measured on this profile");
  }
}

std::vector<std::pair<std::string, std::string>> own_definitions() {
  return {
      {"whole_run", "throughput, power and energy count from the first send to the last token"},
      {"steady_state",
       "ramp-up and drain cut off by steady_state.rule; null when no such window exists"},
      {"running.mean", "mean over decode steps"},
      {"running.first_wave", "running at the first decode step"},
      {"queue.mean", "mean over time; requests waiting in the engine"},
      {"latency",
       "ttft and e2e from the request's send; tpot = (last - first token) / (tokens - 1); itl per "
       "token"},
      {"quantiles",
       "smallest sample with more than that share at or below it (p50: upper median); exact up to "
       "1,000,000 distinct samples, beyond within 0.5 %"},
      {"saturation",
       "open loop, second half of the arrivals: saturated or rising when requests sent exceed "
       "requests finished beyond chance (97.5 %, 16 parts); saturated when they wait"},
      {"goodput",
       "requests within every limit on ttft, tpot and e2e, and their output tokens, per second of "
       "the run; itl limits are judged over tokens; met: every limit holds and the queue does not "
       "grow"},
      {"time_split",
       "shares of wall time, prefill and decode together; time_split_decode and "
       "time_split_prefill: "
       "of those steps and the host gaps before them"},
      {"all_reduce", "the whole collective call as measured, spinning included"},
      {"wait", "time lost to a later peer beyond the collective's own"},
      {"power", "GPU boards only; gpu_w_p95_meter of a 1 s trailing average read every 100 ms"},
      {"utilization_pct", "share of time with any kernel resident"},
      {"energy", "all GPUs; split in joules, sums to j_total"},
      {"interval", "band of the calibration tables, taken as fully correlated"},
      {"elasticity", "d ln(tok/s) / d ln(limit): per cent more tokens for one per cent more of it"},
  };
}

}  // namespace

Report finish_report(const RunRecord& run) {
  Report report;
  report.subject = run.context.subject;
  fill_throughput(run, report);
  fill_steady_state(run, report);
  fill_requests(run, report);
  fill_load(run, report);
  fill_steps(run, report);
  fill_time(run, report);
  fill_power(run, report);
  fill_interval(run, report);
  fill_provenance(run, report);
  fill_binding(run, report);
  if (run.context.prices) report.cost = cost_of(*run.context.prices, report);
  fill_bounds(run, report);
  fill_warnings(run, report);
  report.series = run.series.points(run.replicas());
  report.definitions = own_definitions();
  report.definitions.insert(report.definitions.end(), run.context.definitions.begin(),
                            run.context.definitions.end());
  return report;
}

}  // namespace plateau
