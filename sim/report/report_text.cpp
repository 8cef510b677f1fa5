#include <fmt/format.h>

#include <algorithm>

#include "sim/report/format.h"
#include "sim/report/kv_text.h"
#include "sim/report/ladder_text.h"
#include "sim/report/load_text.h"
#include "sim/report/report.h"

namespace plateau {

namespace {

constexpr int kChartRows = 7;
constexpr double kVisibleShare = 0.0005;  // parts below are not worth a line

std::string capitalised(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    text += (text.empty() ? "" : between) + part;
  }
  return text;
}

std::string or_dash(const std::optional<double>& value) { return value ? compact(*value) : "-"; }

std::string whole(std::int64_t value) { return grouped(static_cast<double>(value)); }

void write_subject(Page& page, const Subject& subject) {
  const std::string hardware =
      fmt::format("{} on {} x {}", subject.model, subject.gpus, subject.device);
  page.paragraph("", joined({hardware, subject.engine}, ", "), Page::Ink::bold);
  if (!subject.workload.empty()) page.paragraph("", subject.workload);
  if (!subject.question.empty()) page.paragraph("", subject.question);
}

void write_headline(Page& page, const Report& report) {
  page.line();
  page.paragraph("", headline(report), Page::Ink::bold);
  if (!report.binding.constraint.empty()) {
    page.paragraph(
        "", "Bound by " + report.binding.constraint + ". " + capitalised(report.binding.why) + ".");
  }
}

void throughput_row(Page& page, const std::string& name, double run,
                    const std::optional<double>& steady) {
  page.line("  " + pad_right(name, 18) + pad_left(compact(run), 12) +
            pad_left(or_dash(steady), 15));
}

void write_throughput(Page& page, const Report& report) {
  const ThroughputReport& run = report.throughput;
  const SteadyStateReport& steady = report.steady_state;
  page.heading("Throughput             whole run   steady state");
  throughput_row(page, "output tok/s", run.output_tok_per_s, steady.output_tok_per_s);
  throughput_row(page, "total tok/s", run.total_tok_per_s, steady.total_tok_per_s);
  throughput_row(page, "requests/s", run.requests_per_s, steady.requests_per_s);
  throughput_row(page, "running", report.running.mean, steady.running_mean);
  throughput_row(page, "W per GPU", report.power.gpu_w_mean, steady.gpu_w_mean);
  std::string rule = steady.rule;
  if (steady.start_s && steady.end_s) {
    rule = fmt::format("{} to {} of {} s: ", compact(*steady.start_s), compact(*steady.end_s),
                       compact(run.seconds)) +
           rule;
  }
  page.paragraph("  steady state: ", rule);
}

void write_chart(Page& page, const Report& report) {
  const bool steady = report.steady_state.running_mean.has_value();
  const auto replicas = static_cast<double>(std::max<std::size_t>(1, report.replicas.size()));
  const double running = report.steady_state.running_mean.value_or(report.running.mean) / replicas;
  const std::string mark =
      compact(running) + (steady ? " running in the steady state" : " running on average");
  const auto lines = curve_chart(report.decode_curve, running, mark,
                                 std::min<std::size_t>(page.width(), 78), kChartRows, page.ascii());
  if (lines.empty()) return;
  page.heading(replicas > 1 ? "Decode tok/s of one replica against its running requests"
                            : "Decode tok/s against running requests (steps alone, no prefill)");
  for (const std::string& line : lines) page.line(line);
}

void write_split(Page& page, const Report& report) {
  const std::size_t bars = page.width() - Page::kLabel - 20;
  page.heading(pad_right("Where it goes", Page::kLabel + 2) + pad_left("time", 6) +
               pad_right("", bars + 2) + pad_left("energy", 8));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (report.time_split[i] >= kVisibleShare) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.time_split[a] > report.time_split[b];
  });
  const double largest = order.empty() ? 1 : report.time_split[order.front()];
  for (const std::size_t i : order) {
    const double energy =
        report.energy.j_total > 0 ? report.energy.split[i] / report.energy.j_total : 0;
    const std::string drawn = bar(report.time_split[i] / largest, bars, page.ascii());
    page.line("  " + pad_right(name_of(static_cast<Part>(i)), Page::kLabel) +
              pad_left(percent(report.time_split[i]), 6) + "  " + pad_right(drawn, bars) +
              pad_left(percent(energy), 8));
  }
}

void latency_row(Page& page, const std::string& name, const Spread& spread) {
  std::string line = "  " + pad_right(name, 16);
  for (const auto& value : {spread.mean, spread.p50, spread.p90, spread.p99})
    line += pad_left(or_dash(value), 11);
  page.line(line);
}

void write_latency(Page& page, const Report& report) {
  page.heading("Milliseconds             mean        p50        p90        p99");
  if (report.saturation && report.saturation->grows()) {
    page.paragraph("  ", "The queue grew while requests came: not steady latencies.",
                   Page::Ink::warning);
  }
  latency_row(page, "TTFT", report.latency_ms.ttft);
  latency_row(page, "TPOT", report.latency_ms.tpot);
  latency_row(page, "ITL", report.latency_ms.itl);
  latency_row(page, "end to end", report.latency_ms.e2e);
  latency_row(page, "decode step", report.step.decode_ms);
  latency_row(page, "prefill step", report.step.prefill_ms);
}

std::string steps_text(const Report& report) {
  const StepStatistics& step = report.step;
  std::string text = fmt::format("{} decode ({} of the time", whole(step.decode_count),
                                 percent(step.decode_time_share));
  if (step.mixed_count > 0)
    text += fmt::format(", {} with prefill inside", whole(step.mixed_count));
  text += fmt::format("), {} prefill ({})", whole(step.prefill_count),
                      percent(step.prefill_time_share));
  return text + (step.graph_share > 0
                     ? fmt::format("; {} of decode replays graphs", percent(step.graph_share))
                     : "; no captured graphs");
}

std::string running_text(const Report& report) {
  std::string text = fmt::format(
      "{} on average, {} at most, {} in the first wave; queue {} on average, {} at most",
      compact(report.running.mean), whole(report.running.peak), whole(report.running.first_wave),
      compact(report.queue.mean), whole(report.queue.peak));
  if (report.retractions.count > 0) {
    text += fmt::format("; {} retractions recompute {} tokens", whole(report.retractions.count),
                        whole(report.retractions.recomputed_tokens));
  }
  return text;
}

std::string power_text(const Report& report) {
  const PowerReport& power = report.power;
  std::string text = compact(power.gpu_w_mean) + " W per GPU";
  if (report.interval.gpu_w_mean) {
    text += fmt::format(" ({} to {})", compact(report.interval.gpu_w_mean->low),
                        compact(report.interval.gpu_w_mean->high));
  }
  if (power.tdp_fraction) text += fmt::format(", {} of its limit", percent(*power.tdp_fraction));
  if (report.subject.gpus > 1)
    text += fmt::format(", {} W for all {}", compact(power.node_w), report.subject.gpus);
  if (power.gpu_w_p95_meter)
    text += fmt::format("; a 1 s meter reads {} W at p95", compact(*power.gpu_w_p95_meter));
  text +=
      fmt::format("; a kernel is resident {} of the time", percent(power.utilization_pct / 100));
  return text;
}

std::string energy_text(const EnergyReport& energy) {
  std::string text = compact(energy.j_total / 1e3) + " kJ";
  if (energy.j_per_output_token)
    text += fmt::format(", {} J per output token", compact(*energy.j_per_output_token));
  return text;
}

std::string experts_text(const ExpertsReport& experts) {
  std::string text = fmt::format(
      "{} of {} awake at the mean batch, {} tokens each on average (p50 {}, p99 {})",
      compact(experts.active_mean), experts.experts, compact(experts.tokens_per_expert_mean),
      compact(experts.p50), compact(experts.p99));
  text += fmt::format(", hottest {} x the mean", compact(experts.max_over_mean));
  if (experts.rank_max_over_mean > 1)
    text += fmt::format(", busiest rank {} x", compact(experts.rank_max_over_mean));
  return experts.law.empty() ? text : text + "; " + experts.law;
}

void write_facts(Page& page, const Report& report) {
  page.line();
  page.fact("Steps", steps_text(report));
  page.fact("Running", running_text(report));
  if (report.saturation) page.fact("Load", load_text(*report.saturation));
  if (report.goodput) page.fact("Goodput", goodput_text(*report.goodput));
  page.fact("KV cache", kv_text(report.kv));
  if (report.experts) page.fact("Experts", experts_text(*report.experts));
  page.fact("Power", power_text(report));
  page.fact("Energy", energy_text(report.energy));
  if (report.cost) page.fact("Cost", cost_text(*report.cost));
}

void write_replicas(Page& page, const std::vector<ReplicaReport>& replicas) {
  constexpr std::size_t kMostRows = 16;
  if (replicas.empty()) return;
  page.heading("Replica   requests     tok/s   running     queue  TTFT p99 ms  W per GPU");
  for (std::size_t i = 0; i < std::min(replicas.size(), kMostRows); ++i) {
    const ReplicaReport& one = replicas[i];
    page.line(pad_left(std::to_string(i), 7) + pad_left(whole(one.requests), 11) +
              pad_left(compact(one.output_tok_per_s), 10) +
              pad_left(compact(one.running_mean), 10) + pad_left(compact(one.queue_mean), 10) +
              pad_left(or_dash(one.ttft_ms_p99), 13) + pad_left(compact(one.gpu_w_mean), 11));
  }
  if (replicas.size() > kMostRows)
    page.line(fmt::format("  and {} more", replicas.size() - kMostRows));
}

void write_provenance(Page& page, const ProvenanceReport& provenance) {
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < kSources; ++i) {
    if (provenance.shares[i] >= kVisibleShare) {
      shares.push_back(percent(provenance.shares[i]) + " " + name_of(static_cast<Source>(i)));
    }
  }
  page.line();
  page.fact("Sources", shares.empty() ? "no time was priced" : "time is " + joined(shares, ", "));
  if (!provenance.profile.empty()) {
    page.fact("Profile", joined({provenance.profile, provenance.profile_source, provenance.engine,
                                 provenance.driver, provenance.date, provenance.licence},
                                "; "));
  }
  for (const TableInfo& table : provenance.tables)
    page.fact("", pad_right(table.digest, 17) + " " + table.name);
  page.fact("", joined({fmt::format("seed {}", provenance.seed),
                        provenance.version.empty() ? "" : "plateau " + provenance.version},
                       ", "));
}

void write_warnings(Page& page, const std::vector<std::string>& warnings) {
  if (!warnings.empty()) page.line();
  for (const std::string& warning : warnings)
    page.paragraph("Warning: ", warning, Page::Ink::warning);
}

// "1,935 x 2,624 x 6,144", or what the operation's time follows.
std::string shape_text(const OpCall& call) {
  const auto n = [](double value) { return compact(value); };
  switch (call.op) {
    case Op::attention_decode:
    case Op::attention_prefill:
    case Op::mla_decode:
    case Op::mla_prefill:
    case Op::indexer_logits:
    case Op::indexer_topk:
      return n(call.sequences) + " seq, ctx " + n(call.context_tokens);
    case Op::moe_experts:
      return n(call.m) + " tok, " + n(call.active_experts) + " active";
    case Op::all_reduce:
    case Op::all_gather:
      return bytes_text(call.bytes) + ", " + std::to_string(call.ranks) + " ranks";
    default:
      break;
  }
  std::string text = n(call.m);
  if (call.n > 0) text += " x " + n(call.n);
  if (call.k > 0) text += " x " + n(call.k);
  return call.n > 0 || call.k > 0 ? text : text + " tok";
}

void step_row(Page& page, const std::array<std::string, 8>& cells) {
  const std::size_t label = page.width() >= 100 ? 28 : 20;
  const std::size_t shape = page.width() >= 80 ? 20 : 0;
  std::string line = pad_right(ellipsis(cells[0], label), label) + pad_left(cells[1], 4) + " ";
  if (shape > 0) line += pad_right(ellipsis(cells[2], shape), shape);
  line +=
      pad_left(cells[3], 7) + pad_left(cells[4], 8) + pad_left(cells[5], 7) + pad_left(cells[6], 4);
  page.line(line + " " + cells[7]);
}

std::string milliseconds(double seconds) { return grouped(seconds * 1e3, seconds < 0.1 ? 3 : 1); }

const char* short_name(Source source) {
  static constexpr const char* kNames[kSources] = {"measured", "interp.", "extrap.", "roofline",
                                                   "assumed"};
  return kNames[static_cast<int>(source)];
}

std::string step_headline(const StepReport& report) {
  const StepShape& shape = report.shape;
  std::vector<std::string> work;
  if (shape.decode_sequences > 0) {
    work.push_back(fmt::format("decode of {} requests at {} tokens of context",
                               compact(shape.decode_sequences),
                               compact(shape.decode_context_tokens / shape.decode_sequences)));
  }
  if (shape.prefill_tokens > 0)
    work.push_back(fmt::format("prefill of {} tokens", compact(shape.prefill_tokens)));
  if (shape.decode_padded > shape.decode_sequences)
    work.push_back("padded to " + compact(shape.decode_padded));
  work.push_back(shape.graph ? "captured graph" : "launched kernel by kernel");
  return joined(work, ", ");
}

}  // namespace

std::string headline(const Report& report) {
  const std::string load = report.subject.load.empty() ? "The run" : report.subject.load;
  const bool plural = load.back() == 's';
  std::string text =
      load + (plural ? " get " : " gets ") + compact(report.throughput.output_tok_per_s) + " tok/s";
  if (report.interval.output_tok_per_s) {
    const Interval& band = *report.interval.output_tok_per_s;
    text += fmt::format(" ({} to {})", compact(band.low), compact(band.high));
  }
  text += fmt::format(" at {} W per GPU", compact(report.power.gpu_w_mean));
  if (report.kv.wall_requests)
    text += fmt::format("; the KV pool admits {} requests", whole(*report.kv.wall_requests));
  return text + ".";
}

std::string report_text(const Report& report, const TextOptions& options) {
  Page page(options);
  write_subject(page, report.subject);
  write_headline(page, report);
  write_throughput(page, report);
  write_chart(page, report);
  write_split(page, report);
  write_latency(page, report);
  write_facts(page, report);
  write_replicas(page, report.replicas);
  write_ladder(page, report.binding);
  write_provenance(page, report.provenance);
  write_warnings(page, report.warnings);
  return page.text();
}

std::string step_text(const StepReport& report, const TextOptions& options) {
  Page page(options);
  write_subject(page, report.subject);
  page.paragraph("", step_headline(report));
  const StepCost& cost = report.cost;
  const double seconds = cost.seconds;
  const auto part_of = [&](double s) {
    return seconds > 0 ? grouped(s / seconds * 100, 1) + " %" : std::string("-");
  };
  page.line();
  step_row(page, {"operation", "count", "shape", "us each", "ms", "share", "W", "source"});
  for (const OpLine& line : report.lines) {
    const double total = line.each.seconds.value * line.call.count;
    step_row(page, {line.call.label, compact(line.call.count), shape_text(line.call),
                    compact(line.each.seconds.value * 1e6), milliseconds(total), part_of(total),
                    grouped(line.each.watts.value), short_name(line.each.seconds.source)});
  }
  const PartCost& launch = cost[Part::launch];
  step_row(page, {"launch", "", "between kernels", "", milliseconds(launch.seconds),
                  part_of(launch.seconds),
                  launch.seconds > 0 ? grouped(launch.joules / launch.seconds) : "-", ""});
  page.line();
  std::string sum = fmt::format("{} ms ({} to {})", compact(seconds * 1e3),
                                compact(cost.low_seconds * 1e3), compact(cost.high_seconds * 1e3));
  if (seconds > 0) {
    if (report.shape.decode_sequences > 0)
      sum += fmt::format(", {} tok/s", compact(report.shape.decode_sequences / seconds));
    sum += fmt::format(", {} W per GPU, a kernel is resident {} of the time",
                       compact(cost.joules / seconds), percent(cost.busy_seconds / seconds));
  }
  page.fact("Step", sum);
  ProvenanceReport provenance = report.provenance;
  for (std::size_t i = 0; i < kSources && seconds > 0; ++i)
    provenance.shares[i] = cost.source_seconds[i] / seconds;
  write_provenance(page, provenance);
  write_warnings(page, report.warnings);
  return page.text();
}

}  // namespace plateau
