#include "sim/report/report_builder.h"

#include <algorithm>

#include "sim/report/run_record.h"

namespace plateau {

namespace {

constexpr double kMillisecond = 1e-3;
constexpr double kAtCap = 0.98;         // a step drawing this share of the cap runs against it
constexpr double kBudgetFilled = 0.95;  // of the prefill token budget
constexpr double kClientsBusy = 0.95;   // of a closed loop's clients, in the engine
constexpr double kBatchFull = 0.98;     // of the running batch with which the steady state began

void add_shape(StepShape& sum, const StepShape& shape) {
  sum.decode_sequences += shape.decode_sequences;
  sum.decode_padded += shape.decode_padded;
  sum.decode_context_tokens += shape.decode_context_tokens;
  sum.prefill_sequences += shape.prefill_sequences;
  sum.prefill_tokens += shape.prefill_tokens;
  sum.prefill_context_tokens += shape.prefill_context_tokens;
  sum.prefill_attended += shape.prefill_attended;
}

}  // namespace

void Phase::add(const StepRecord& step) {
  ++count;
  graph_count += step.shape->graph ? 1 : 0;
  gpu += step.end - step.start;
  host += step.host_gap;
  add_shape(shape, *step.shape);
  ms.add(to_seconds(step.end - step.start) / kMillisecond);
  const StepCost& c = *step.cost;
  for (std::size_t i = 0; i < kParts; ++i) {
    cost.parts[i].seconds += c.parts[i].seconds;
    cost.parts[i].joules += c.parts[i].joules;
    cost.seconds += c.parts[i].seconds;
  }
  cost.busy_seconds += c.busy_seconds;
  cost.low_seconds += c.low_seconds;
  cost.high_seconds += c.high_seconds;
  cost.low_joules += c.low_joules;
  cost.high_joules += c.high_joules;
  for (std::size_t i = 0; i < kSources; ++i) cost.source_seconds[i] += c.source_seconds[i];
}

// One engine's run; with replicas the whole's too, which counts the steps of all.
struct ReportBuilder::Recorder : RunRecord {
  using RunRecord::RunRecord;

  void on_step(const StepRecord& step);
  void on_request_finished(const RequestRecord& request);
  void on_retraction(const RetractionRecord& retraction);
  void count_finished(SimTime until);
  void look_for_steady_state(const StepRecord& step);
  void spend(const StepRecord& step);
  void count_decode(const StepRecord& step);
  void count_step(const StepRecord& step);
  void count(const StepRecord& step);
  void release_held();
  void count_overrun();
  void idle_until(SimTime end);

  std::function<void(const StepRecord&)> also;  // told of each step that counts
  SimTime counted_until{};
};

struct ReportBuilder::State {
  explicit State(const ReportContext& context);
  void add_to_whole(const StepRecord& step);
  void end(SimTime last_token);

  Recorder whole;
  std::vector<Recorder> replicas;  // empty when there is one
  struct Levels {
    std::int64_t running = 0;
    std::int64_t queued = 0;
    std::int64_t kv = 0;
  };
  std::vector<Levels> levels;  // of each replica, at its last step
  Levels now;                  // their sum
};

namespace {

// What a replica's report is made from: no limits, prices or charts, which are the whole's.
ReportContext replica_context(const ReportContext& whole) {
  ReportContext context = whole;
  context.subject.gpus = std::max(1, whole.subject.gpus / whole.replicas);
  context.clients = (whole.clients + whole.replicas - 1) / whole.replicas;
  context.replicas = 1;
  context.limits.clear();
  context.prices.reset();
  context.experts = {};
  context.price = {};
  return context;
}

}  // namespace

ReportBuilder::State::State(const ReportContext& context) : whole(context) {
  if (context.replicas <= 1) return;
  const ReportContext each = replica_context(context);
  levels.resize(static_cast<std::size_t>(context.replicas));
  replicas.reserve(levels.size());
  for (int i = 0; i < context.replicas; ++i) {
    replicas.emplace_back(each);
    // Unlike a run alone, a replica's time begins with the run: it may idle before its first step.
    replicas.back().seen_step = true;
    replicas.back().also = [this](const StepRecord& step) { add_to_whole(step); };
  }
}

void ReportBuilder::State::add_to_whole(const StepRecord& step) {
  whole.count_step(step);
  Levels& mine = levels[step.replica];
  now.running += step.running - mine.running;
  now.queued += step.queued - mine.queued;
  now.kv += step.kv_used_tokens - mine.kv;
  mine = {step.running, step.queued, step.kv_used_tokens};
  whole.running_peak_sum = std::max(whole.running_peak_sum, now.running);
  whole.queue_peak_sum = std::max(whole.queue_peak_sum, now.queued);
  whole.kv_peak_sum = std::max(whole.kv_peak_sum, now.kv);
}

// A replica's time ends with the run's, not with its own last token.
void ReportBuilder::State::end(SimTime last_token) {
  whole.last_token = last_token;
  for (Recorder& replica : replicas) {
    replica.last_token = last_token;
    replica.first_sent = whole.first_sent;
    replica.idle_until(last_token);
  }
}

void ReportBuilder::Recorder::count_finished(SimTime until) {
  if (pending.requests == 0 || pending.at > until) return;
  totals.requests += pending.requests;
  totals.input_tokens += pending.input_tokens;
  pending = {};
}

void ReportBuilder::Recorder::look_for_steady_state(const StepRecord& step) {
  const bool decodes = step.shape->decode_sequences > 0;
  const bool prefills = step.shape->prefill_tokens > 0;
  if (decodes && (prefilled || prefills)) {
    Totals before = totals;
    before.at = step.start;
    const SimTime since = step.start - first_sent.value_or(SimTime{});
    const bool ramp_over =
        totals.requests > 0 && totals.requests >= first_wave &&
        to_seconds(since) * static_cast<double>(finished) >= to_seconds(latency_sum);
    const bool closed = context.clients > 0;
    const bool busy_clients =
        closed && static_cast<double>(step.running + step.queued) >= kClientsBusy * context.clients;
    const bool admits = !closed && (admitted || step.new_requests > 0);
    const auto loaded = [&](const Window& window) {
      const bool full = static_cast<double>(step.running) >= kBatchFull * window.running_at_start;
      return step.queued > 0 || busy_clients || admits || (closed && full);
    };
    if (!prefills) waves.consider(before, ramp_over, loaded(waves), step.running);
    any_step.consider(before, ramp_over, loaded(any_step), step.running);
  }
  if (decodes && !prefills) prefilled = admitted = false;
  prefilled = prefilled || prefills;
  admitted = admitted || step.new_requests > 0;
}

// Time and energy before the step and during it, in order.
void ReportBuilder::Recorder::spend(const StepRecord& step) {
  const TimeSeries::Levels levels{static_cast<double>(step.running),
                                  static_cast<double>(step.queued),
                                  static_cast<double>(step.kv_used_tokens)};
  const auto stretch = [&](SimTime length, double joules, const TimeSeries::Levels& during,
                           double tokens) {
    meter.add(length, joules);
    series.add(length, during, joules, tokens);
    totals.joules += joules;
  };
  if (seen_step) stretch(step.idle, to_seconds(step.idle) * context.power.idle.value, {}, 0);
  stretch(step.host_gap, to_seconds(step.host_gap) * context.power.host_gap.value, levels, 0);
  stretch(step.end - step.start, step.cost->joules, levels,
          static_cast<double>(step.output_tokens));
  seen_step = true;
  counted_until = step.end;
}

void ReportBuilder::Recorder::idle_until(SimTime end) {
  const SimTime length = end - counted_until;
  if (length <= SimTime{}) return;
  const double joules = to_seconds(length) * context.power.idle.value;
  meter.add(length, joules);
  series.add(length, {}, joules, 0);
}

void ReportBuilder::Recorder::count_decode(const StepRecord& step) {
  if (decode.count == 0) first_wave = step.running;
  running_peak = std::max(running_peak, step.running);
  totals.running += step.running;
  ++totals.decode_steps;
  if (step.shape->prefill_tokens > 0) ++mixed;
  if (step.queued > 0) {
    const double seconds = to_seconds(step.end - step.start);
    queued_time += step.end - step.start;
    queued_running += static_cast<double>(step.running) * seconds;
    queued_waiting += static_cast<double>(step.queued) * seconds;
  }
}

void ReportBuilder::Recorder::count_step(const StepRecord& step) {
  const bool decodes = step.shape->decode_sequences > 0;
  if (decodes) count_decode(step);
  if (step.shape->prefill_tokens > 0 && context.prefill_token_budget > 0 &&
      step.shape->prefill_tokens >=
          kBudgetFilled * static_cast<double>(context.prefill_token_budget)) {
    ++full_prefills;
  }
  (decodes ? decode : prefill).add(step);
  totals.output_tokens += step.output_tokens;
  queue_peak = std::max(queue_peak, step.queued);
  queue_seconds +=
      static_cast<double>(step.queued) * to_seconds(step.end - step.start + step.host_gap);
  if (context.clients == 0)
    backlog.add_waiting(step.end, step.end - step.start + step.host_gap,
                        static_cast<double>(step.queued));
  kv_peak = std::max(kv_peak, step.kv_used_tokens);
  const double cap = context.power_cap_w.value_or(context.device.power_limit_w);
  const double seconds = step.cost->seconds;
  if (cap > 0 && seconds > 0 && step.cost->joules / seconds >= kAtCap * cap)
    capped += step.end - step.start;
  if (step.gaps == nullptr) return;
  for (const TokenGap& gap : *step.gaps) {
    const double ms = to_seconds(gap.gap) / kMillisecond;
    itl.add(ms, gap.count);
    goodput.add_gap(ms, gap.count);
  }
}

void ReportBuilder::Recorder::count(const StepRecord& step) {
  count_finished(step.start);
  look_for_steady_state(step);
  spend(step);
  count_step(step);
  if (also) also(step);
}

// A step that delivers nothing counts once a later one does: an overlapping scheduler still runs a
// step for requests that have ended, and what follows the last token is outside the run.
void ReportBuilder::Recorder::on_step(const StepRecord& step) {
  if (step.output_tokens == 0) {
    held.push_back({step, *step.shape, *step.cost});
    return;
  }
  release_held();
  count(step);
  last_token = std::max(last_token, step.end);
}

void ReportBuilder::Recorder::release_held() {
  for (HeldStep& step : held) {
    step.record.shape = &step.shape;
    step.record.cost = &step.cost;
    step.record.gaps = nullptr;
    count(step.record);
  }
  held.clear();
}

void ReportBuilder::Recorder::on_request_finished(const RequestRecord& request) {
  if (pending.at != request.finished) count_finished(request.finished);
  pending.at = request.finished;
  ++pending.requests;
  pending.input_tokens += request.input_tokens;
  ++finished;
  finished_input += request.input_tokens;
  finished_output += request.output_tokens;
  first_sent = std::min(first_sent.value_or(request.sent), request.sent);
  goodput.add(request);
  if (context.clients == 0) backlog.add_request(request.sent, request.finished);
  const SimTime latency = request.finished - request.sent;
  latency_sum += latency;
  e2e.add(to_seconds(latency) / kMillisecond);
  ttft.add(to_seconds(request.first_token - request.sent) / kMillisecond);
  if (request.output_tokens > 1) {
    tpot.add(to_seconds(request.finished - request.first_token) / kMillisecond /
             static_cast<double>(request.output_tokens - 1));
  }
}

void ReportBuilder::Recorder::on_retraction(const RetractionRecord& retraction) {
  retractions.count += retraction.requests;
  retractions.recomputed_tokens += retraction.recompute_tokens;
}

// What an overlapping engine still computed after the last token is a decode step of the engine,
// though not of the run's time: it counts in the mean running batch and in the number of steps, as
// the engine's own log would.
void ReportBuilder::Recorder::count_overrun() {
  for (const HeldStep& step : held) {
    if (step.shape.decode_sequences <= 0) continue;
    totals.running += step.record.running;
    ++totals.decode_steps;
  }
  held.clear();
}

ReportBuilder::ReportBuilder(const ReportContext& context)
    : state_(std::make_unique<State>(context)) {}
ReportBuilder::~ReportBuilder() = default;

void ReportBuilder::on_step(const StepRecord& step) {
  State& s = *state_;
  (s.replicas.empty() ? s.whole : s.replicas[step.replica]).on_step(step);
}

void ReportBuilder::on_request_finished(const RequestRecord& request) {
  State& s = *state_;
  s.whole.on_request_finished(request);
  if (!s.replicas.empty()) s.replicas[request.replica].on_request_finished(request);
}

void ReportBuilder::on_retraction(const RetractionRecord& retraction) {
  State& s = *state_;
  s.whole.on_retraction(retraction);
  if (!s.replicas.empty()) s.replicas[retraction.replica].on_retraction(retraction);
}

void ReportBuilder::on_end(SimTime last_token) { state_->end(last_token); }

Report ReportBuilder::finish() {
  State& s = *state_;
  s.whole.count_overrun();
  if (s.replicas.empty()) return finish_report(s.whole);
  std::vector<RunRecord*> replicas;
  for (Recorder& replica : s.replicas) {
    replica.count_overrun();
    replicas.push_back(&replica);
  }
  return finish_replicas(s.whole, replicas);
}

}  // namespace plateau
