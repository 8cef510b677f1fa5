#include "sim/deployment/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "calibration/input_error.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

using Kind = WorkloadConfig::Client;

std::string whole(std::int64_t value) { return grouped(static_cast<double>(value)); }

std::string length_text(const LengthConfig& length) {
  if (length.law == LengthConfig::Law::fixed) return whole(length.tokens);
  const LengthRange range = length_range(length);
  return whole(range.low) + "-" + whole(range.high);
}

double middle_of(const LengthConfig& length) {
  const LengthRange range = length_range(length);
  return 0.5 * static_cast<double>(range.low + range.high);
}

[[noreturn]] void refuse(const Scenario& scenario, const char* key, std::string message,
                         std::string hint) {
  throw InputError(Problem{scenario.file, 0, 0, key, std::move(message), std::move(hint)});
}

}  // namespace

Workload::Workload(const Scenario& scenario,
                   const std::function<bool(std::int64_t, std::int64_t)>& fits_alone)
    : config_(scenario.workload), seed_(scenario.seed), requests_(config_.requests) {
  if (config_.client == Kind::trace) {
    load_trace(scenario, fits_alone);
  } else {
    mean_input_ = middle_of(config_.input);
    mean_output_ = middle_of(config_.output);
  }
}

void Workload::load_trace(const Scenario& scenario,
                          const std::function<bool(std::int64_t, std::int64_t)>& fits_alone) {
  auto trace = std::make_shared<ArrivalTrace>(
      read_arrival_trace(config_.trace, config_.requests_given ? config_.requests : 0));
  if (config_.requests_given && static_cast<std::int64_t>(trace->rows.size()) < requests_) {
    refuse(scenario, "workload.requests",
           fmt::format("{} are asked for, the trace holds {}", whole(requests_),
                       whole(static_cast<std::int64_t>(trace->rows.size()))),
           "leave requests out to send all of it");
  }
  std::vector<ArrivalRow>& rows = trace->rows;
  const int context = scenario.model.max_context;
  const auto too_long = [&](const ArrivalRow& row) {
    return (context > 0 && std::int64_t{row.input_tokens} + row.output_tokens > context) ||
           !fits_alone(row.input_tokens, row.output_tokens);
  };
  const auto first = std::find_if(rows.begin(), rows.end(), too_long);
  if (first != rows.end()) {
    const ArrivalRow example = *first;
    const auto all = static_cast<std::int64_t>(rows.size());
    rows.erase(std::remove_if(first, rows.end(), too_long), rows.end());
    dropped_ = all - static_cast<std::int64_t>(rows.size());
    const std::string what = fmt::format(
        "{} of the {} requests of {} exceed the model's context or the KV pool (first: line {}, "
        "{} + {} tokens)",
        whole(dropped_), whole(all), config_.trace, example.line, whole(example.input_tokens),
        whole(example.output_tokens));
    if (!config_.drop_oversized || rows.empty()) {
      refuse(scenario, "workload.trace", what,
             "write workload.oversized: drop to leave them out, as a server would refuse them");
    }
    warnings_.push_back(what + "; they are left out");
  }
  requests_ = static_cast<std::int64_t>(rows.size());
  for (const ArrivalRow& row : rows) {
    mean_input_ += row.input_tokens;
    mean_output_ += row.output_tokens;
  }
  mean_input_ /= static_cast<double>(requests_);
  mean_output_ /= static_cast<double>(requests_);
  if (trace->repeated_prefix_share) {
    warnings_.push_back(fmt::format(
        "{} of the trace's prompt tokens repeat prefixes sent before; a prefix cache is not "
        "modelled, so all of them are computed",
        percent(*trace->repeated_prefix_share)));
  }
  trace_ = std::move(trace);
}

std::optional<std::int64_t> Workload::longest() const {
  if (trace_) return std::nullopt;
  return length_range(config_.input).high + length_range(config_.output).high;
}

double Workload::trace_rate() const {
  const double seconds = to_seconds(trace_->rows.back().arrival) / config_.rate_scale;
  return seconds > 0 ? static_cast<double>(requests_ - 1) / seconds : 0;
}

std::optional<double> Workload::arrival_rate() const {
  if (!open_loop()) return std::nullopt;
  return config_.client == WorkloadConfig::Client::trace ? trace_rate() : config_.request_rate;
}

std::string Workload::load_text() const {
  switch (config_.client) {
    case Kind::closed_loop:
      return whole(config_.concurrency) + (config_.concurrency == 1 ? " client" : " clients");
    case Kind::poisson:
    case Kind::gamma:
      return compact(*config_.request_rate) + " requests/s";
    case Kind::trace:
      return compact(trace_rate()) + " requests/s";
  }
  return "";
}

std::string Workload::text() const {
  std::string text = load_text();
  if (config_.client == Kind::poisson) text += " (Poisson)";
  if (config_.client == Kind::gamma)
    text += fmt::format(" (gamma, burstiness {})", compact(config_.burstiness));
  if (config_.client == Kind::trace) {
    text += " of " + std::filesystem::path(config_.trace).filename().string();
    if (config_.rate_scale != 1) text += fmt::format(" x {}", compact(config_.rate_scale));
    return text + fmt::format(", {} requests of {} in / {} out on average", whole(requests_),
                              compact(mean_input_), compact(mean_output_));
  }
  return text + fmt::format(", {} requests of {} in / {} out", whole(requests_),
                            length_text(config_.input), length_text(config_.output));
}

std::unique_ptr<Client> Workload::client() const {
  switch (config_.client) {
    case Kind::closed_loop:
      break;
    case Kind::poisson:
    case Kind::gamma:
      return std::make_unique<OpenLoopClient>(std::make_unique<RandomArrivals>(config_, seed_));
    case Kind::trace:
      return std::make_unique<OpenLoopClient>(
          std::make_unique<TraceArrivals>(trace_, config_.rate_scale));
  }
  return std::make_unique<ClosedLoopClient>(config_, seed_);
}

}  // namespace plateau
