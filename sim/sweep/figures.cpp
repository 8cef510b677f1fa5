#include "sim/sweep/figures.h"

#include <array>
#include <charconv>
#include <cmath>

namespace plateau {

namespace {

using Value = std::optional<double>;

Value per_gpu(const Report& r) {
  return r.throughput.output_tok_per_s / std::max(1, r.subject.gpus);
}

Value per_watt(const Report& r) {
  if (r.power.node_w <= 0) return std::nullopt;
  return r.throughput.output_tok_per_s / r.power.node_w;
}

Value share(const Report& r, Source source) {
  return r.provenance.shares[static_cast<std::size_t>(source)];
}

template <double GoodputReport::*field>
Value good(const Report& r) {
  return r.goodput ? Value((*r.goodput).*field) : std::nullopt;
}

template <std::optional<double> CostReport::*field>
Value cost(const Report& r) {
  return r.cost ? (*r.cost).*field : std::nullopt;
}

Value whole(std::optional<std::int64_t> value) {
  return value ? Value(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

const std::vector<Figure>& figures() {
  static const std::vector<Figure> kFigures = {
      {"output_tok_per_s", [](const Report& r) -> Value { return r.throughput.output_tok_per_s; }},
      {"steady_output_tok_per_s",
       [](const Report& r) -> Value { return r.steady_state.output_tok_per_s; }},
      {"total_tok_per_s", [](const Report& r) -> Value { return r.throughput.total_tok_per_s; }},
      {"requests_per_s", [](const Report& r) -> Value { return r.throughput.requests_per_s; }},
      {"output_tok_per_s_per_gpu", per_gpu},
      {"output_tok_per_j", per_watt},
      {"gpus", [](const Report& r) -> Value { return r.subject.gpus; }},
      {"gpu_w_mean", [](const Report& r) -> Value { return r.power.gpu_w_mean; }},
      {"gpu_w_p95_meter", [](const Report& r) -> Value { return r.power.gpu_w_p95_meter; }},
      {"node_w", [](const Report& r) -> Value { return r.power.node_w; }},
      {"utilization_pct", [](const Report& r) -> Value { return r.power.utilization_pct; }},
      {"j_per_output_token", [](const Report& r) -> Value { return r.energy.j_per_output_token; }},
      {"ttft_p50_ms", [](const Report& r) -> Value { return r.latency_ms.ttft.p50; }},
      {"ttft_p90_ms", [](const Report& r) -> Value { return r.latency_ms.ttft.p90; }},
      {"ttft_p99_ms", [](const Report& r) -> Value { return r.latency_ms.ttft.p99; }},
      {"tpot_p50_ms", [](const Report& r) -> Value { return r.latency_ms.tpot.p50; }},
      {"tpot_p90_ms", [](const Report& r) -> Value { return r.latency_ms.tpot.p90; }},
      {"tpot_p99_ms", [](const Report& r) -> Value { return r.latency_ms.tpot.p99; }},
      {"itl_p50_ms", [](const Report& r) -> Value { return r.latency_ms.itl.p50; }},
      {"itl_p90_ms", [](const Report& r) -> Value { return r.latency_ms.itl.p90; }},
      {"itl_p99_ms", [](const Report& r) -> Value { return r.latency_ms.itl.p99; }},
      {"e2e_p50_ms", [](const Report& r) -> Value { return r.latency_ms.e2e.p50; }},
      {"e2e_p90_ms", [](const Report& r) -> Value { return r.latency_ms.e2e.p90; }},
      {"e2e_p99_ms", [](const Report& r) -> Value { return r.latency_ms.e2e.p99; }},
      {"decode_p50_ms", [](const Report& r) -> Value { return r.step.decode_ms.p50; }},
      {"decode_steps",
       [](const Report& r) -> Value { return static_cast<double>(r.step.decode_count); }},
      {"prefill_steps",
       [](const Report& r) -> Value { return static_cast<double>(r.step.prefill_count); }},
      {"running_mean", [](const Report& r) -> Value { return r.running.mean; }},
      {"running_peak", [](const Report& r) { return whole(r.running.peak); }},
      {"queue_mean", [](const Report& r) -> Value { return r.queue.mean; }},
      {"queue_peak", [](const Report& r) { return whole(r.queue.peak); }},
      {"retractions", [](const Report& r) { return whole(r.retractions.count); }},
      {"kv_capacity_tokens", [](const Report& r) { return whole(r.kv.capacity_tokens); }},
      {"kv_peak_used_tokens", [](const Report& r) { return whole(r.kv.peak_used_tokens); }},
      {"kv_wall_requests", [](const Report& r) { return whole(r.kv.wall_requests); }},
      {"kv_bytes_per_token_per_gpu",
       [](const Report& r) -> Value { return r.kv.bytes_per_token_per_gpu; }},
      {"share_measured", [](const Report& r) { return share(r, Source::measured); }},
      {"share_interpolated", [](const Report& r) { return share(r, Source::interpolated); }},
      {"share_extrapolated", [](const Report& r) { return share(r, Source::extrapolated); }},
      {"share_roofline", [](const Report& r) { return share(r, Source::roofline); }},
      {"share_assumed", [](const Report& r) { return share(r, Source::assumed); }},
      {"goodput_met",
       [](const Report& r) -> Value {
         return r.goodput ? Value(r.goodput->met ? 1 : 0) : std::nullopt;
       }},
      {"goodput_requests_share", good<&GoodputReport::requests_share>},
      {"goodput_requests_per_s", good<&GoodputReport::requests_per_s>},
      {"goodput_output_tok_per_s", good<&GoodputReport::output_tok_per_s>},
      {"rack_w", cost<&CostReport::rack_w>},
      {"site_w", cost<&CostReport::site_w>},
      {"cost_per_hour", cost<&CostReport::per_hour>},
      {"cost_per_million_output_tokens", cost<&CostReport::per_million_output_tokens>},
      {"cost_per_million_output_tokens_steady",
       cost<&CostReport::per_million_output_tokens_steady>},
      {"cost_per_million_total_tokens", cost<&CostReport::per_million_total_tokens>},
      {"cost_per_million_good_output_tokens", cost<&CostReport::per_million_good_output_tokens>},
      {"warnings", [](const Report& r) -> Value { return static_cast<double>(r.warnings.size()); }},
      {"simulated_s", [](const Report& r) -> Value { return r.throughput.seconds; }},
  };
  return kFigures;
}

const Figure* find_figure(const std::string& name) {
  for (const Figure& figure : figures()) {
    if (name == figure.name) return &figure;
  }
  return nullptr;
}

const std::vector<std::string>& repeated_figures() {
  static const std::vector<std::string> kRepeated = {
      "output_tok_per_s", "gpu_w_mean",  "j_per_output_token", "ttft_p99_ms",
      "tpot_p50_ms",      "tpot_p99_ms", "itl_p99_ms",         "running_mean"};
  return kRepeated;
}

const std::vector<WordFigure>& word_figures() {
  static const std::vector<WordFigure> kWords = {
      {"binding", [](const Report& r) { return r.binding.constraint; }},
      {"concurrency_binding", [](const Report& r) { return r.binding.concurrency; }},
      {"load",
       [](const Report& r) {
         return r.saturation ? std::string(name_of(r.saturation->verdict)) : std::string();
       }},
      {"currency", [](const Report& r) { return r.cost ? r.cost->currency : std::string(); }},
  };
  return kWords;
}

std::string digits_of(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "";
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), *value);
  return std::string(digits.data(), result.ptr);
}

}  // namespace plateau
