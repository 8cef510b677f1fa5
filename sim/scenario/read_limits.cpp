#include <array>
#include <charconv>
#include <cmath>

#include "calibration/csv.h"
#include "sim/scenario/sections.h"

namespace plateau {

namespace {

using Metric = LatencyLimit::Metric;

struct MetricName {
  const char* name;
  Metric metric;
};
constexpr std::array kMetrics = {MetricName{"ttft", Metric::ttft}, MetricName{"tpot", Metric::tpot},
                                 MetricName{"itl", Metric::itl}, MetricName{"e2e", Metric::e2e}};

struct Suffix {
  const char* text;
  std::optional<int> permille;
};
constexpr std::array kSuffixes = {Suffix{"", 990},     Suffix{"_mean", std::nullopt},
                                  Suffix{"_p50", 500}, Suffix{"_p90", 900},
                                  Suffix{"_p95", 950}, Suffix{"_p99", 990}};

// "2.5 USD". A currency is three capital letters; nothing is converted.
std::optional<double> read_price(ConfigReader* cost, const char* key, CostConfig* config) {
  const auto text = cost->optional<std::string>(key);
  if (!text) return std::nullopt;
  const std::size_t letters =
      std::min(text->find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), text->size());
  const std::string currency = text->substr(letters);
  std::string number = text->substr(0, letters);
  while (!number.empty() && number.back() == ' ') number.pop_back();
  const auto amount = parse_number(number);
  const bool spelt = currency.size() == 3 &&
                     currency.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  if (!amount || *amount < 0 || !spelt) {
    cost->complain(key, "`" + *text + "` is not a price", "write an amount such as `2.5 USD`");
    return std::nullopt;
  }
  if (!config->currency.empty() && config->currency != currency) {
    cost->complain(key, "is in " + currency + ", another price in " + config->currency,
                   "give all prices in one currency");
  }
  config->currency = currency;
  return amount;
}

}  // namespace

void read_limits(ConfigReader limits, std::vector<LatencyLimit>* config) {
  for (const MetricName& metric : kMetrics) {
    for (const Suffix& suffix : kSuffixes) {
      const std::string key = std::string(metric.name) + suffix.text;
      const auto seconds = limits.quantity(key, Dimension::time, {1e-9, 1e9});
      if (seconds) config->push_back({key, metric.metric, suffix.permille, *seconds * 1e3});
    }
    const std::string p99 = std::string(metric.name) + "_p99";
    if (limits.has(metric.name) && limits.has(p99)) {
      limits.complain(p99, "is the same limit as " + std::string(metric.name), "remove one");
    }
  }
  // Those that only `plateau plan` judges, and reads by itself (sim/plan/goal.h).
  for (const char* key : {"gpu_power", "node_power", "rack_power"})
    limits.quantity(key, Dimension::power, {0, 1e9});
  limits.quantity("memory", Dimension::memory, {0, 1e15});
  for (const char* key : {"gpus", "j_per_token", "cost_per_million_tokens", "tok_per_s",
                          "tok_per_s_per_gpu", "request_rate", "queue_share"})
    limits.optional<double>(key, {0, 1e15});
}

CostConfig read_cost(ConfigReader cost) {
  CostConfig config;
  config.gpu_hour = read_price(&cost, "gpu_hour", &config);
  config.kwh = read_price(&cost, "kwh", &config);
  config.host_power_w = cost.quantity("host_power", Dimension::power, {0, 1e6});
  config.gpus_per_host = cost.optional<int>("gpus_per_host", {1, kMostGpus}).value_or(8);
  config.pue = cost.optional<double>("pue", {1, 10});
  if (!cost.has("kwh")) return config;
  if (!cost.has("host_power")) {
    cost.complain("host_power", "is missing",
                  "what a host draws beside its GPUs; 0 W leaves it out");
  }
  if (!cost.has("pue")) {
    cost.complain("pue", "is missing", "site power over that of its hosts; 1 leaves cooling out");
  }
  return config;
}

}  // namespace plateau
