#include "sim/report/bounds.h"

#include <algorithm>

#include "models/memory.h"

namespace plateau {

namespace {

constexpr double kRounding = 1e-6;  // steps are whole nanoseconds
constexpr double kMillisecond = 1e-3;

// Element-wise passes are left out: their data sit in cache.
bool has_roof(const OpCall& call) {
  return call.part == Part::attention || call.part == Part::dense_gemm || call.part == Part::moe ||
         call.op == Op::lm_head;
}

double roofline_seconds(const std::vector<OpLine>& lines, const DeviceSpec& device) {
  double seconds = 0;
  for (const OpLine& line : lines) {
    if (!has_roof(line.call)) continue;
    const Work work = work_of(line.call);
    const double peak = device.peak_flops(line.call.weights);
    const double memory = device.memory_bandwidth > 0 ? work.bytes / device.memory_bandwidth : 0;
    const double arithmetic = peak > 0 ? work.flops / peak : 0;
    seconds += line.call.count * std::max(memory, arithmetic);
  }
  return seconds;
}

class Bounds {
 public:
  void at_most(const char* name, double value, double limit, const char* rule) {
    bounds_.push_back({name, value, limit, value <= limit * (1 + kRounding), rule});
  }
  std::vector<Bound> take() { return std::move(bounds_); }

 private:
  std::vector<Bound> bounds_;
};

void add_memory(const Report& report, const BoundsInput& input, Bounds* bounds) {
  const KvReport& kv = report.kv;
  if (kv.capacity_tokens <= 0) return;
  const auto pool = static_cast<double>(kv.capacity_tokens);
  bounds->at_most("kv_used", static_cast<double>(kv.peak_used_tokens), pool,
                  "KV tokens in use <= pool");
  if (input.device.memory_bytes <= 0 || input.weights_bytes <= 0) return;
  bounds->at_most("memory",
                  (input.weights_bytes + pool / input.replicas * kv.bytes_per_token_per_gpu) / kGiB,
                  input.device.memory_bytes / kGiB, "GiB of weights and KV pool <= the GPU's");
}

void add_little(const Report& report, const BoundsInput& input, Bounds* bounds) {
  const double seconds = report.throughput.seconds;
  if (seconds <= 0) return;
  if (input.clients > 0) {
    bounds->at_most("little_clients", report.throughput.concurrency, input.clients,
                    "request latencies over wall time <= clients");
  }
  const Spread& itl = report.latency_ms.itl;
  // The gaps are those of all replicas, the peak is one engine's.
  if (!itl.mean || report.retractions.count > 0 || input.replicas > 1) return;
  bounds->at_most("little_decode",
                  static_cast<double>(itl.count) * *itl.mean * kMillisecond / seconds,
                  static_cast<double>(report.running.peak),
                  "inter-token gaps over wall time <= running requests at most");
}

}  // namespace

std::vector<Bound> bounds_of(const Report& report, const BoundsInput& input) {
  Bounds bounds;
  const auto& decode_ms = report.step.decode_ms.mean;
  if (!input.decode_lines.empty() && decode_ms) {
    bounds.at_most("decode_roofline",
                   roofline_seconds(input.decode_lines, input.device) / kMillisecond, *decode_ms,
                   "roofline ms of the mean decode step <= its ms");
  }
  add_memory(report, input, &bounds);
  add_little(report, input, &bounds);
  const double cap = input.power_cap_w > 0 ? input.power_cap_w : input.device.power_limit_w;
  if (cap > 0)
    bounds.at_most("power", report.power.gpu_w_mean, cap, "mean watts of a GPU <= its cap");
  return bounds.take();
}

}  // namespace plateau
