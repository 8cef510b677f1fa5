// Prometheus text: DCGM (GPU figures) and the engines' own metrics, one or several scrapes in a
// file.
//
//   DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="...",modelName="..."} 241.07 [milliseconds since 1970]
#include <array>
#include <cmath>
#include <set>

#include "calibration/import/formats.h"
#include "calibration/import/line_source.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Metric {
  const char* name;
  const char* column;
  double factor;
};

constexpr Metric kDcgm[] = {
    {"DCGM_FI_DEV_POWER_USAGE", "power_w", 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "energy_j", 1e-3},  // mJ counter
    {"DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz", 1},
    {"DCGM_FI_DEV_MEM_CLOCK", "memory_clock_mhz", 1},
    {"DCGM_FI_DEV_GPU_TEMP", "temperature_c", 1},
    {"DCGM_FI_DEV_MEMORY_TEMP", "memory_temperature_c", 1},
    {"DCGM_FI_DEV_GPU_UTIL", "utilization_pct", 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "memory_utilization_pct", 1},
    {"DCGM_FI_DEV_FB_USED", "memory_used_mib", 1},
    {"DCGM_FI_DEV_FB_FREE", "memory_free_mib", 1},
    {"DCGM_FI_DEV_POWER_VIOLATION", "power_violation_ns", 1},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", "thermal_violation_ns", 1},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gr_active_share", 1},
    {"DCGM_FI_PROF_SM_ACTIVE", "sm_active_share", 1},
    {"DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy_share", 1},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active_share", 1},
    {"DCGM_FI_PROF_DRAM_ACTIVE", "dram_active_share", 1},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", "pcie_tx_bytes", 1},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", "pcie_rx_bytes", 1},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlink_tx_bytes", 1},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", "nvlink_rx_bytes", 1},
};

// A field that was never sampled holds a number near 2^63 (integer), 2^47 (real) or 2^31 (32-bit).
bool is_blank(double value) {
  const auto near = [&](double mark) { return value >= mark && value <= mark + 15; };
  return value >= 9.2e18 || near(140737488355328.0) || near(2147483632.0);
}

std::string_view label(std::string_view labels, std::string_view name) {
  const std::string key = std::string(name) + "=\"";
  for (std::size_t at = find_text(labels, key); at != kNowhere;
       at = find_text(labels, key, at + 1)) {
    if (at > 0 && labels[at - 1] != ',' && labels[at - 1] != ' ') continue;
    const std::string_view rest = labels.substr(at + key.size());
    const std::size_t end = rest.find('"');
    return end == kNowhere ? std::string_view() : rest.substr(0, end);
  }
  return {};
}

struct Sample {
  std::string_view name;
  std::string_view labels;
  double value = 0;
  std::optional<double> epoch_s;
};

std::optional<Sample> sample_of(const Line& line) {
  Sample sample;
  const std::string_view text = line.text;
  const std::size_t brace = text.find_first_of("{ ");
  if (brace == kNowhere || brace == 0) return std::nullopt;
  sample.name = text.substr(0, brace);
  std::size_t at = brace;
  if (text[brace] == '{') {
    const std::size_t close = text.find('}', brace);
    if (close == kNowhere) return std::nullopt;
    sample.labels = text.substr(brace + 1, close - brace - 1);
    at = close + 1;
  }
  const std::string_view rest = text.substr(std::min(text.find_first_not_of(' ', at), text.size()));
  const auto value = leading_number(rest);
  if (!value) return std::nullopt;
  const std::string_view behind = rest.substr(value->length);
  if (behind.empty() ? !line.terminated : behind[0] != ' ') return std::nullopt;
  sample.value = value->value;
  const auto stamp = number(trimmed(behind));
  if (stamp && line.terminated) sample.epoch_s = *stamp / 1000;
  return sample;
}

class Prometheus {
 public:
  explicit Prometheus(Recorder& recorder) : recorder_(recorder) {}

  void line(const Line& line) {
    if (trimmed(line.text).empty()) return;
    if (line.text[0] == '#') return;
    const std::optional<Sample> sample = sample_of(line);
    if (!sample) return recorder_.ignore("lines without a complete value", line.number);
    if (is_blank(sample->value)) {
      return recorder_.ignore("values never sampled (near 2^63): missing", line.number);
    }
    if (sample->name.substr(0, 5) == "DCGM_") return gpu(*sample, line);
    engine(*sample, line);
  }

  void finish() { recorder_.report().gpus = static_cast<int>(gpus_.size()); }

 private:
  // One row per value: rows of a scrape stand on different lines.
  void gpu(const Sample& sample, const Line& line) {
    std::string_view name = sample.name;
    constexpr std::string_view kTotal = "_total";
    if (name.size() > kTotal.size() && name.substr(name.size() - kTotal.size()) == kTotal) {
      name.remove_suffix(kTotal.size());
    }
    const Metric* metric = nullptr;
    for (const Metric& known : kDcgm) metric = name == known.name ? &known : metric;
    if (metric == nullptr) {
      return recorder_.ignore("metric " + std::string(name.substr(0, 80)), line.number);
    }
    Series& series = recorder_.series("gpu_samples");
    series.begin_row(recorder_.file(), line.number);
    series.set(series.column(metric->column), sample.value * metric->factor);
    if (const auto index = number(label(sample.labels, "gpu"))) {
      series.set(series.column("gpu"), *index);
      gpus_.insert(*index);
    }
    const std::string_view model = label(sample.labels, "modelName");
    if (!model.empty()) series.set_word(series.column("gpu_name", true), model);
    stamp(series, sample);
    series.end_row();
    recorder_.row();
  }

  // sglang:num_running_reqs{...} 5; histogram buckets stay out.
  void engine(const Sample& sample, const Line& line) {
    const bool sglang = sample.name.substr(0, 7) == "sglang:";
    const bool vllm = sample.name.substr(0, 5) == "vllm:";
    if ((!sglang && !vllm) || contains(sample.name, "_bucket")) {
      return recorder_.ignore(sglang || vllm ? "histogram buckets" : "metrics of other programs",
                              line.number);
    }
    recorder_.report().engine = sglang ? "sglang" : "vllm";
    Series& series = recorder_.series("engine_metrics");
    series.begin_row(recorder_.file(), line.number);
    series.set(series.column("value"), sample.value);
    series.set_word(series.column("metric", true), sample.name.substr(sglang ? 7 : 5));
    for (const char* rank : {"dp_rank", "tp_rank", "engine"}) {
      if (const auto index = number(label(sample.labels, rank)))
        series.set(series.column(rank), *index);
    }
    stamp(series, sample);
    series.end_row();
    recorder_.row();
  }

  void stamp(Series& series, const Sample& sample) {
    if (!sample.epoch_s) return;
    series.set(series.column(column_of(Clock::epoch)), *sample.epoch_s);
    recorder_.time(Clock::epoch, *sample.epoch_s);
  }

  Recorder& recorder_;
  std::set<double> gpus_;
};

}  // namespace

void import_prometheus(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "Prometheus text";
  LineSource lines(bytes);
  Prometheus prometheus(recorder);
  Line line;
  while (lines.next(line)) prometheus.line(line);
  prometheus.finish();
}

}  // namespace plateau::imports
