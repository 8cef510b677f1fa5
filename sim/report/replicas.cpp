// The report of several replicas: the whole's record holds what adds up step by step and request by
// request; what is a mean or a peak of each engine is put together here.
#include <algorithm>

#include "sim/report/cost.h"
#include "sim/report/run_record.h"

namespace plateau {

namespace {

ReplicaReport replica_report(const Report& report) {
  ReplicaReport replica;
  replica.requests = report.throughput.requests;
  replica.output_tok_per_s = report.throughput.output_tok_per_s;
  replica.running_mean = report.running.mean;
  replica.running_peak = report.running.peak;
  replica.queue_mean = report.queue.mean;
  replica.queue_peak = report.queue.peak;
  replica.kv_peak_used_tokens = report.kv.peak_used_tokens;
  replica.ttft_ms_p99 = report.latency_ms.ttft.p99;
  replica.gpu_w_mean = report.power.gpu_w_mean;
  replica.utilization_pct = report.power.utilization_pct;
  return replica;
}

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (sum && value) {
    *sum += *value;
  } else {
    sum.reset();
  }
}

// Each replica in its own window, since they reach it at their own times; missing unless all do.
SteadyStateReport steady_sum(const std::vector<Report>& replicas) {
  SteadyStateReport sum = replicas.front().steady_state;
  for (std::size_t i = 1; i < replicas.size(); ++i) {
    const SteadyStateReport& more = replicas[i].steady_state;
    add(sum.output_tok_per_s, more.output_tok_per_s);
    add(sum.total_tok_per_s, more.total_tok_per_s);
    add(sum.requests_per_s, more.requests_per_s);
    add(sum.running_mean, more.running_mean);
    add(sum.gpu_w_mean, more.gpu_w_mean);
    if (sum.start_s && more.start_s) sum.start_s = std::min(*sum.start_s, *more.start_s);
    if (sum.end_s && more.end_s) sum.end_s = std::max(*sum.end_s, *more.end_s);
  }
  if (!sum.output_tok_per_s) {
    SteadyStateReport none;
    none.rule = "none: not every replica had one";
    return none;
  }
  const auto count = static_cast<double>(replicas.size());
  if (sum.gpu_w_mean) *sum.gpu_w_mean /= count;
  sum.rule = "sum over " + std::to_string(replicas.size()) +
             " replicas, each in its own window: " + sum.rule;
  return sum;
}

void sum_levels(const RunRecord& whole, const std::vector<Report>& replicas, Report& report) {
  report.running = {0, whole.running_peak_sum, 0};
  for (const Report& replica : replicas) {
    report.running.mean += replica.running.mean;
    report.running.first_wave += replica.running.first_wave;
  }
  report.queue.peak = whole.queue_peak_sum;
  const int count = whole.replicas();
  report.kv.capacity_tokens *= count;
  report.kv.peak_used_tokens = whole.kv_peak_sum;
  if (report.kv.wall_requests) *report.kv.wall_requests *= count;
}

}  // namespace

Report finish_replicas(RunRecord& whole, std::vector<RunRecord*> records) {
  std::vector<Report> replicas;
  for (RunRecord* record : records) {
    replicas.push_back(finish_report(*record));
    if (record != records.front()) {
      records.front()->meter.add_readings(record->meter);
      records.front()->series.add_replica(record->series);
    }
  }
  std::swap(whole.meter, records.front()->meter);
  std::swap(whole.series, records.front()->series);
  Report report = finish_report(whole);
  report.steady_state = steady_sum(replicas);
  sum_levels(whole, replicas, report);
  report.power.gpu_w_each.clear();
  for (const Report& replica : replicas) {
    report.replicas.push_back(replica_report(replica));
    const std::vector<double>& each = replica.power.gpu_w_each;
    report.power.gpu_w_each.insert(report.power.gpu_w_each.end(), each.begin(), each.end());
  }
  if (!report.binding.why.empty())
    report.binding.why += ", in each of " + std::to_string(replicas.size()) + " replicas";
  if (whole.context.prices) report.cost = cost_of(*whole.context.prices, report);
  return report;
}

}  // namespace plateau
