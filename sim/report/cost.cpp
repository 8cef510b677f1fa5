#include "sim/report/cost.h"

namespace plateau {

namespace {

struct Draw {
  std::optional<double> rack_w;
  std::optional<double> site_w;
  std::optional<double> energy_per_hour;
};

Draw draw_of(const CostConfig& prices, int gpus, int hosts, double gpu_w) {
  Draw draw;
  if (!prices.host_power_w) return draw;
  draw.rack_w = gpus * gpu_w + hosts * *prices.host_power_w;
  if (!prices.pue) return draw;
  draw.site_w = *draw.rack_w * *prices.pue;
  if (prices.kwh) draw.energy_per_hour = *draw.site_w / 1000 * *prices.kwh;
  return draw;
}

std::optional<double> sum(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a && !b) return std::nullopt;
  return a.value_or(0) + b.value_or(0);
}

std::optional<double> per_million(const std::optional<double>& per_hour, double tok_per_s) {
  if (!per_hour || tok_per_s <= 0) return std::nullopt;
  return *per_hour / (tok_per_s * 3600) * 1e6;
}

}  // namespace

CostReport cost_of(const CostConfig& prices, const Report& report) {
  const int gpus = report.subject.gpus;
  CostReport cost;
  cost.currency = prices.currency;
  cost.hosts = (gpus + prices.gpus_per_host - 1) / prices.gpus_per_host;
  const Draw draw = draw_of(prices, gpus, cost.hosts, report.power.gpu_w_mean);
  cost.rack_w = draw.rack_w;
  cost.site_w = draw.site_w;
  cost.energy_per_hour = draw.energy_per_hour;
  if (prices.gpu_hour) cost.gpus_per_hour = gpus * *prices.gpu_hour;
  cost.per_hour = sum(cost.gpus_per_hour, cost.energy_per_hour);
  cost.per_million_output_tokens = per_million(cost.per_hour, report.throughput.output_tok_per_s);
  cost.per_million_total_tokens = per_million(cost.per_hour, report.throughput.total_tok_per_s);
  if (report.goodput) {
    cost.per_million_good_output_tokens =
        per_million(cost.per_hour, report.goodput->output_tok_per_s);
  }
  const SteadyStateReport& steady = report.steady_state;
  if (steady.output_tok_per_s && steady.gpu_w_mean) {
    const Draw then = draw_of(prices, gpus, cost.hosts, *steady.gpu_w_mean);
    cost.per_million_output_tokens_steady =
        per_million(sum(cost.gpus_per_hour, then.energy_per_hour), *steady.output_tok_per_s);
  }
  return cost;
}

}  // namespace plateau
