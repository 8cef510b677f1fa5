#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/report.h"

namespace plateau {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json optional(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json optional(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Spread& spread) {
  return {{"mean", optional(spread.mean)},
          {"p50", optional(spread.p50)},
          {"p90", optional(spread.p90)},
          {"p99", optional(spread.p99)},
          {"count", spread.count}};
}

Json to_json(const PartValues& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kParts; ++i) json[name_of(static_cast<Part>(i))] = number(values[i]);
  return json;
}

Json to_json(const Subject& subject) {
  return {{"file", subject.file},        {"question", subject.question}, {"model", subject.model},
          {"device", subject.device},    {"gpus", subject.gpus},         {"engine", subject.engine},
          {"workload", subject.workload}};
}

Json to_json(const ThroughputReport& t) {
  return {{"output_tok_per_s", number(t.output_tok_per_s)},
          {"total_tok_per_s", number(t.total_tok_per_s)},
          {"requests_per_s", number(t.requests_per_s)},
          {"seconds", number(t.seconds)},
          {"output_tokens", t.output_tokens},
          {"input_tokens", t.input_tokens},
          {"requests", t.requests},
          {"concurrency", number(t.concurrency)}};
}

Json to_json(const SteadyStateReport& s) {
  return {{"output_tok_per_s", optional(s.output_tok_per_s)},
          {"total_tok_per_s", optional(s.total_tok_per_s)},
          {"requests_per_s", optional(s.requests_per_s)},
          {"running_mean", optional(s.running_mean)},
          {"gpu_w_mean", optional(s.gpu_w_mean)},
          {"start_s", optional(s.start_s)},
          {"end_s", optional(s.end_s)},
          {"rule", s.rule}};
}

Json to_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return Json::array({number(interval->low), number(interval->high)});
}

Json to_json(const KvReport& kv) {
  return {{"capacity_tokens", kv.capacity_tokens},
          {"bytes_per_token_per_gpu", number(kv.bytes_per_token_per_gpu)},
          {"page_tokens", kv.page_tokens},
          {"peak_used_tokens", kv.peak_used_tokens},
          {"source", kv.source},
          {"wall_requests", optional(kv.wall_requests)},
          {"derived_tokens", optional(kv.derived_tokens)},
          {"derived_tokens_spec_weights", optional(kv.derived_tokens_spec_weights)},
          {"unexplained_bytes", optional(kv.unexplained_bytes)},
          {"told_unexplained_bytes", optional(kv.told_unexplained_bytes)},
          {"told_unexplained_source", kv.told_unexplained_source},
          {"told_unexplained_range", to_json(kv.told_unexplained_range)},
          {"derived_tokens_range", to_json(kv.derived_tokens_range)}};
}

Json to_json(const StepStatistics& step) {
  return {{"decode_ms", to_json(step.decode_ms)},
          {"prefill_ms", to_json(step.prefill_ms)},
          {"decode_count", step.decode_count},
          {"prefill_count", step.prefill_count},
          {"mixed_count", step.mixed_count},
          {"decode_time_share", number(step.decode_time_share)},
          {"prefill_time_share", number(step.prefill_time_share)},
          {"graph_share", number(step.graph_share)}};
}

Json to_json(const std::optional<ExpertsReport>& experts) {
  if (!experts) return nullptr;
  return {{"tokens_per_expert_mean", number(experts->tokens_per_expert_mean)},
          {"p50", number(experts->p50)},
          {"p99", number(experts->p99)},
          {"active_mean", number(experts->active_mean)},
          {"max_over_mean", number(experts->max_over_mean)},
          {"rank_max_over_mean", number(experts->rank_max_over_mean)},
          {"experts", experts->experts},
          {"law", experts->law}};
}

Json to_json(const PowerReport& power) {
  Json each = Json::array();
  for (const double watts : power.gpu_w_each) each.push_back(number(watts));
  return {{"gpu_w_mean", number(power.gpu_w_mean)},
          {"gpu_w_p95_meter", optional(power.gpu_w_p95_meter)},
          {"gpu_w_max_meter", optional(power.gpu_w_max_meter)},
          {"gpu_w_each", each},
          {"utilization_pct", number(power.utilization_pct)},
          {"tdp_fraction", optional(power.tdp_fraction)},
          {"band", optional(power.band)},
          {"node_w", number(power.node_w)}};
}

Json to_json(const EnergyReport& energy) {
  return {{"j_per_output_token", optional(energy.j_per_output_token)},
          {"j_total", number(energy.j_total)},
          {"split", to_json(energy.split)}};
}

Json to_json(const LadderRung& rung) {
  return {{"constraint", rung.constraint},
          {"tok_per_s_if_relaxed", optional(rung.tok_per_s_if_relaxed)},
          {"marginal", optional(rung.marginal)},
          {"change", rung.change},
          {"sets", rung.sets},
          {"hypothetical", rung.hypothetical},
          {"price", rung.price},
          {"gain_tok_per_s", optional(rung.gain)},
          {"steady_tok_per_s_if_relaxed", optional(rung.steady_tok_per_s_if_relaxed)},
          {"tpot_ms_if_relaxed", optional(rung.tpot_ms_if_relaxed)},
          {"gpu_w_mean_if_relaxed", optional(rung.gpu_w_mean_if_relaxed)},
          {"binds_next", rung.binds_next},
          {"marginal_unit", rung.unit},
          {"marginal_amount", rung.unit.empty() ? Json(nullptr) : number(rung.marginal_amount)},
          {"marginal_from", rung.marginal_from},
          {"marginal_sets", rung.marginal_sets},
          {"marginal_steady", optional(rung.marginal_steady)},
          {"breaks", rung.breaks},
          {"not_run", rung.not_run}};
}

Json to_json(const LadderStep& step) {
  return {{"constraint", step.constraint},
          {"change", step.change},
          {"sets", step.sets},
          {"output_tok_per_s", number(step.output_tok_per_s)},
          {"gpu_w_mean", number(step.gpu_w_mean)},
          {"binds_next", step.binds_next}};
}

Json to_json(const Bound& bound) {
  return {{"name", bound.name},
          {"value", number(bound.value)},
          {"limit", number(bound.limit)},
          {"holds", bound.holds},
          {"rule", bound.rule}};
}

template <class T>
Json list_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

Json to_json(const BindingReport& binding) {
  Json limits = Json::array();
  for (const Limit& limit : binding.limits) {
    limits.push_back({{"constraint", limit.constraint}, {"elasticity", number(limit.elasticity)}});
  }
  return {{"constraint", binding.constraint},
          {"why", binding.why},
          {"concurrency", binding.concurrency},
          {"concurrency_why", binding.concurrency_why},
          {"step", binding.step},
          {"limits", limits},
          {"ladder", list_json(binding.ladder)},
          {"climb", list_json(binding.climb)}};
}

Json to_json(const std::optional<SaturationReport>& saturation) {
  if (!saturation) return nullptr;
  const SaturationReport& s = *saturation;
  return {{"verdict", name_of(s.verdict)},
          {"latencies_steady",
           s.verdict == SaturationReport::Verdict::unknown ? Json(nullptr) : Json(!s.grows())},
          {"arrivals_per_s", number(s.arrivals_per_s)},
          {"completions_per_s", number(s.completions_per_s)},
          {"growth_per_s", optional(s.growth_per_s)},
          {"growth_per_s_low", optional(s.growth_per_s_low)},
          {"growth_per_s_high", optional(s.growth_per_s_high)},
          {"backlog_middle", number(s.backlog_middle)},
          {"backlog_end", number(s.backlog_end)},
          {"waiting_first", optional(s.waiting_first)},
          {"waiting_last", optional(s.waiting_last)}};
}

Json to_json(const std::optional<GoodputReport>& goodput) {
  if (!goodput) return nullptr;
  Json limits = Json::array();
  for (const LimitResult& limit : goodput->limits) {
    limits.push_back({{"name", limit.name},
                      {"limit_ms", number(limit.limit_ms)},
                      {"measured_ms", optional(limit.measured_ms)},
                      {"met", limit.met},
                      {"share_within", optional(limit.share_within)}});
  }
  return {{"met", goodput->met},
          {"requests", goodput->requests},
          {"requests_share", number(goodput->requests_share)},
          {"requests_per_s", number(goodput->requests_per_s)},
          {"output_tok_per_s", number(goodput->output_tok_per_s)},
          {"limits", limits}};
}

Json to_json(const std::optional<CostReport>& cost) {
  if (!cost) return nullptr;
  return {{"currency", cost->currency.empty() ? Json(nullptr) : Json(cost->currency)},
          {"hosts", cost->hosts},
          {"rack_w", optional(cost->rack_w)},
          {"site_w", optional(cost->site_w)},
          {"gpus_per_hour", optional(cost->gpus_per_hour)},
          {"energy_per_hour", optional(cost->energy_per_hour)},
          {"per_hour", optional(cost->per_hour)},
          {"per_million_output_tokens", optional(cost->per_million_output_tokens)},
          {"per_million_total_tokens", optional(cost->per_million_total_tokens)},
          {"per_million_good_output_tokens", optional(cost->per_million_good_output_tokens)},
          {"per_million_output_tokens_steady", optional(cost->per_million_output_tokens_steady)}};
}

Json to_json(const ProvenanceReport& provenance) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kSources; ++i) {
    json[std::string("share_") + name_of(static_cast<Source>(i))] = number(provenance.shares[i]);
  }
  Json tables = Json::array();
  for (const TableInfo& table : provenance.tables) {
    tables.push_back(
        {{"name", table.name}, {"digest", table.digest}, {"noise", number(table.noise)}});
  }
  json["tables"] = tables;
  json["seed"] = provenance.seed;
  json["version"] = provenance.version;
  json["profile"] = provenance.profile;
  json["profile_source"] = provenance.profile_source;
  json["licence"] = provenance.licence;
  json["date"] = provenance.date;
  json["engine"] = provenance.engine;
  json["driver"] = provenance.driver;
  return json;
}

Json curve_json(const std::vector<CurvePoint>& curve) {
  Json json = Json::array();
  for (const CurvePoint& point : curve) {
    json.push_back({{"running", number(point.running)}, {"tok_per_s", number(point.tok_per_s)}});
  }
  return json;
}

// Columns, not rows: what charts take, and a third of the characters.
Json series_json(const std::vector<SeriesPoint>& series) {
  Json json = Json::object();
  for (const char* key :
       {"start_s", "seconds", "running", "queued", "kv_used_tokens", "gpu_w", "output_tok_per_s"}) {
    json[key] = Json::array();
  }
  for (const SeriesPoint& point : series) {
    json["start_s"].push_back(number(point.start_s));
    json["seconds"].push_back(number(point.seconds));
    json["running"].push_back(number(point.running));
    json["queued"].push_back(number(point.queued));
    json["kv_used_tokens"].push_back(number(point.kv_used_tokens));
    json["gpu_w"].push_back(number(point.gpu_w));
    json["output_tok_per_s"].push_back(number(point.output_tok_per_s));
  }
  return json;
}

Json replicas_json(const std::vector<ReplicaReport>& replicas) {
  Json json = Json::array();
  for (const ReplicaReport& replica : replicas) {
    json.push_back({{"requests", replica.requests},
                    {"output_tok_per_s", number(replica.output_tok_per_s)},
                    {"running_mean", number(replica.running_mean)},
                    {"running_peak", replica.running_peak},
                    {"queue_mean", number(replica.queue_mean)},
                    {"queue_peak", replica.queue_peak},
                    {"kv_peak_used_tokens", replica.kv_peak_used_tokens},
                    {"ttft_ms_p99", optional(replica.ttft_ms_p99)},
                    {"gpu_w_mean", number(replica.gpu_w_mean)},
                    {"utilization_pct", number(replica.utilization_pct)}});
  }
  return json;
}

std::string dump(const Json& json) {
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json shape_json(const StepShape& shape) {
  return {{"decode_sequences", number(shape.decode_sequences)},
          {"decode_padded", number(shape.decode_padded)},
          {"decode_context_tokens", number(shape.decode_context_tokens)},
          {"prefill_sequences", number(shape.prefill_sequences)},
          {"prefill_tokens", number(shape.prefill_tokens)},
          {"prefill_context_tokens", number(shape.prefill_context_tokens)},
          {"graph", shape.graph}};
}

Json line_json(const OpLine& line) {
  const OpCall& call = line.call;
  const double ms = line.each.seconds.value * call.count * 1e3;
  return {{"label", call.label},
          {"op", name_of(call.op)},
          {"part", name_of(call.part)},
          {"count", number(call.count)},
          {"kernels", number(call.kernels)},
          {"m", number(call.m)},
          {"n", number(call.n)},
          {"k", number(call.k)},
          {"sequences", number(call.sequences)},
          {"context_tokens", number(call.context_tokens)},
          {"active_experts", number(call.active_experts)},
          {"bytes", number(call.bytes)},
          {"ranks", call.ranks},
          {"us_each", number(line.each.seconds.value * 1e6)},
          {"us_each_low", number(line.each.seconds.low * 1e6)},
          {"us_each_high", number(line.each.seconds.high * 1e6)},
          {"ms_total", number(ms)},
          {"watts", number(line.each.watts.value)},
          {"source", name_of(line.each.seconds.source)},
          {"watts_source", name_of(line.each.watts.source)}};
}

}  // namespace

std::string report_json(const Report& report) {
  Json json = Json::object();
  json["schema"] = "plateau-report/1";
  json["scenario"] = to_json(report.subject);
  json["throughput"] = to_json(report.throughput);
  json["steady_state"] = to_json(report.steady_state);
  json["running"] = {{"mean", number(report.running.mean)},
                     {"peak", report.running.peak},
                     {"first_wave", report.running.first_wave}};
  json["queue"] = {{"mean", number(report.queue.mean)}, {"peak", report.queue.peak}};
  json["retractions"] = {{"count", report.retractions.count},
                         {"recomputed_tokens", report.retractions.recomputed_tokens}};
  json["kv"] = to_json(report.kv);
  json["latency_ms"] = {{"ttft", to_json(report.latency_ms.ttft)},
                        {"tpot", to_json(report.latency_ms.tpot)},
                        {"itl", to_json(report.latency_ms.itl)},
                        {"e2e", to_json(report.latency_ms.e2e)}};
  json["saturation"] = to_json(report.saturation);
  json["goodput"] = to_json(report.goodput);
  json["step"] = to_json(report.step);
  json["time_split"] = to_json(report.time_split);
  json["time_split_decode"] = to_json(report.time_split_decode);
  json["time_split_prefill"] = to_json(report.time_split_prefill);
  json["experts"] = to_json(report.experts);
  json["power"] = to_json(report.power);
  json["energy"] = to_json(report.energy);
  json["cost"] = to_json(report.cost);
  json["binding"] = to_json(report.binding);
  json["interval"] = {{"output_tok_per_s", to_json(report.interval.output_tok_per_s)},
                      {"gpu_w_mean", to_json(report.interval.gpu_w_mean)}};
  if (!report.replicas.empty()) json["replicas"] = replicas_json(report.replicas);
  json["decode_curve"] = curve_json(report.decode_curve);
  if (!report.series.empty()) json["series"] = series_json(report.series);
  Json definitions = Json::object();
  for (const auto& [name, text] : report.definitions) definitions[name] = text;
  json["definitions"] = definitions;
  json["provenance"] = to_json(report.provenance);
  json["bounds"] = list_json(report.bounds);
  json["warnings"] = report.warnings;
  return dump(json);
}

std::string step_json(const StepReport& report) {
  Json json = Json::object();
  json["schema"] = "plateau-step/1";
  json["scenario"] = to_json(report.subject);
  json["shape"] = shape_json(report.shape);
  const StepCost& cost = report.cost;
  json["step_ms"] = number(cost.seconds * 1e3);
  json["step_ms_low"] = number(cost.low_seconds * 1e3);
  json["step_ms_high"] = number(cost.high_seconds * 1e3);
  json["gpu_w_mean"] = cost.seconds > 0 ? number(cost.joules / cost.seconds) : Json(nullptr);
  json["gpu_j"] = number(cost.joules);
  const bool timed = cost.seconds > 0;
  json["output_tok_per_s"] =
      timed ? number(report.shape.decode_sequences / cost.seconds) : Json(nullptr);
  json["utilization_pct"] = timed ? number(cost.busy_seconds / cost.seconds * 100) : Json(nullptr);
  PartValues shares{};
  for (std::size_t i = 0; i < kParts && timed; ++i)
    shares[i] = cost.parts[i].seconds / cost.seconds;
  json["time_split"] = to_json(shares);
  Json lines = Json::array();
  for (const OpLine& line : report.lines) lines.push_back(line_json(line));
  json["operations"] = lines;
  ProvenanceReport provenance = report.provenance;
  for (std::size_t i = 0; i < kSources && timed; ++i)
    provenance.shares[i] = cost.source_seconds[i] / cost.seconds;
  json["provenance"] = to_json(provenance);
  json["warnings"] = report.warnings;
  return dump(json);
}

}  // namespace plateau
