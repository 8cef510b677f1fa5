#include "sim/report/goodput.h"

#include <utility>

#include "sim/report/statistics.h"

namespace plateau {

namespace {

using Metric = LatencyLimit::Metric;

// Milliseconds; nothing when the request has no such latency.
std::optional<double> latency_of(const RequestRecord& request, Metric metric) {
  switch (metric) {
    case Metric::ttft:
      return to_seconds(request.first_token - request.sent) * 1e3;
    case Metric::e2e:
      return to_seconds(request.finished - request.sent) * 1e3;
    case Metric::tpot:
      if (request.output_tokens < 2) return std::nullopt;
      return to_seconds(request.finished - request.first_token) * 1e3 /
             static_cast<double>(request.output_tokens - 1);
    case Metric::itl:
      break;
  }
  return std::nullopt;
}

}  // namespace

Goodput::Goodput(std::vector<LatencyLimit> limits)
    : limits_(std::move(limits)), counts_(limits_.size()), loosest_(limits_.size(), true) {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    for (std::size_t other = 0; other < limits_.size(); ++other) {
      const bool same = limits_[other].metric == limits_[i].metric;
      if (same && limits_[other].ms > limits_[i].ms) loosest_[i] = false;
    }
  }
}

bool Goodput::count(std::size_t limit, double value, std::int64_t weight) {
  const bool within = value <= limits_[limit].ms;
  counts_[limit].all += weight;
  if (within) counts_[limit].within += weight;
  return within;
}

void Goodput::add(const RequestRecord& request) {
  bool good = true;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const auto latency = latency_of(request, limits_[i].metric);
    if (latency && !count(i, *latency, 1) && loosest_[i]) good = false;
  }
  ++requests_;
  if (!good) return;
  ++good_requests_;
  good_tokens_ += request.output_tokens;
}

void Goodput::add_gap(double ms, std::int64_t weight) {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (limits_[i].metric == Metric::itl) count(i, ms, weight);
  }
}

std::optional<GoodputReport> Goodput::report(const std::vector<const Distribution*>& measured,
                                             double seconds, bool saturated) const {
  if (limits_.empty()) return std::nullopt;
  GoodputReport report;
  report.met = !saturated;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const LatencyLimit& limit = limits_[i];
    const Distribution& values = *measured[static_cast<std::size_t>(limit.metric)];
    LimitResult result;
    result.name = limit.name;
    result.limit_ms = limit.ms;
    result.measured_ms = limit.permille ? values.quantile(*limit.permille) : values.mean();
    result.met = !result.measured_ms || *result.measured_ms <= limit.ms;
    if (counts_[i].all > 0)
      result.share_within =
          static_cast<double>(counts_[i].within) / static_cast<double>(counts_[i].all);
    report.met = report.met && result.met;
    report.limits.push_back(std::move(result));
  }
  report.requests = good_requests_;
  if (requests_ > 0)
    report.requests_share = static_cast<double>(good_requests_) / static_cast<double>(requests_);
  if (seconds > 0) {
    report.requests_per_s = static_cast<double>(good_requests_) / seconds;
    report.output_tok_per_s = static_cast<double>(good_tokens_) / seconds;
  }
  return report;
}

}  // namespace plateau
