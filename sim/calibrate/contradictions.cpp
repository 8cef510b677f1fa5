#include "sim/calibrate/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/import/series_reader.h"
#include "calibration/join/windows.h"
#include "calibration/whole.h"
#include "models/memory.h"
#include "sim/calibrate/start_up.h"
#include "sim/deployment/engine_limits.h"

namespace plateau {

namespace {

using imports::DecodeSample;
using imports::Fact;
using imports::Measurement;
using imports::Series;
using imports::SeriesReader;

constexpr double kPoolBand = 0.01;        // of the pool: pages and the ranks' spread
constexpr double kThroughputBand = 0.05;  // a benchmark's mean may not beat the best step by more

std::string place(const Measurement& measurement, int file, std::int64_t line) {
  return fmt::format("{}:{}", measurement.files[static_cast<std::size_t>(file)].file, line);
}

class EngineCheck {
 public:
  EngineCheck(const Measurement& measurement, const Deployment& deployment,
              CalibrationResult* result)
      : measurement_(measurement), deployment_(deployment), result_(result) {}

  void run() {
    engine();
    pool();
    limit("max_running_requests", deployment_.engine().limits.max_running, "running requests");
    limit("chunked_prefill_tokens", deployment_.engine().limits.chunk_tokens,
          "tokens a prefill chunk");
    gpus();
  }

 private:
  void tell(const Fact& fact, const std::string& text) {
    result_->contradictions.push_back(place(measurement_, fact.file, fact.line) + ": " + text);
  }

  void key(const char* name, std::string value) {
    result_->engine_keys.emplace_back(name, std::move(value));
  }

  void engine() {
    const bool vllm = std::any_of(result_->files.begin(), result_->files.end(),
                                  [](const UsedFile& file) { return file.engine == "vllm"; });
    if (!vllm || deployment_.engine().scheduler != "sglang") return;
    result_->contradictions.emplace_back(
        "the log is of vLLM, the scenario simulates SGLang's scheduler: step times and watts carry "
        "over, waiting and batches do not");
  }

  void pool() {
    const Fact* logged = measurement_.fact("kv_capacity_tokens");
    if (logged == nullptr || !logged->number) return;
    const auto tokens = whole(*logged->number);
    const std::int64_t simulated = deployment_.engine().limits.pool_tokens;
    key("kv_pool_tokens", fmt::format("{} tokens", tokens));
    key("kv_source", "log");
    if (tokens != simulated) {
      tell(*logged, fmt::format("a KV pool of {} tokens, the scenario has {} ({}, {:+.1f} %)",
                                tokens, simulated, deployment_.engine().kv_source,
                                100.0 * (static_cast<double>(simulated) / *logged->number - 1)));
    }
    if (deployment_.engine().scheduler == "sglang") memory(*logged, tokens);
  }

  // The memory of the pool's log, else of another file.
  StartUp start_up(int file) {
    StartUp start = start_up_of(measurement_, file);
    for (std::size_t i = 0; i < measurement_.files.size(); ++i) {
      if (start.free_gib && start.weights_gib) break;
      const StartUp other = start_up_of(measurement_, static_cast<int>(i));
      if (!start.free_gib) start.free_gib = other.free_gib;
      if (!start.weights_gib) start.weights_gib = other.weights_gib;
    }
    return start;
  }

  // The logged memory as the scenario's and as keys of the calibrated one.
  void take(const StartUp& start, EngineConfig* engine) {
    if (start.free_gib) {
      engine->free_memory_gib = start.free_gib;
      key("free_memory", fmt::format("{:.2f} GiB", *start.free_gib));
    }
    if (start.weights_gib) {
      engine->weights_gib = start.weights_gib;
      key("weights", fmt::format("{:.2f} GiB", *start.weights_gib));
    }
    if (!start.fraction || *start.fraction == deployment_.engine().pool.fraction) return;
    tell(*start.pool, fmt::format("the server's mem_fraction_static is {}, the scenario's {}",
                                  *start.fraction, deployment_.engine().pool.fraction));
    engine->mem_fraction_static = *start.fraction;
    key("mem_fraction_static", fmt::format("{}", *start.fraction));
  }

  // The pool by the engine's rule, from the memory the log tells, else the scenario's.
  void memory(const Fact& logged, std::int64_t tokens) {
    Scenario scenario = with_profile_memory(deployment_.scenario(), deployment_.profile());
    scenario.engine.kv_pool_tokens = tokens;
    scenario.engine.kv_source = "log";
    take(start_up(logged.file), &scenario.engine);
    try {
      const KvPool pool = resolve_engine(scenario, deployment_.profile().device()).pool;
      if (!pool.unexplained_gib || !pool.derived_tokens) return;
      result_->unexplained_gib = *pool.unexplained_gib + pool.told_unexplained_gib;
      const double off = static_cast<double>(*pool.derived_tokens) / *logged.number - 1;
      if (std::abs(off) <= kPoolBand) return;
      tell(logged, fmt::format("a KV pool of {} tokens; free memory, weights and fraction give {}: "
                               "{:.2f} GiB per GPU {}",
                               tokens, *pool.derived_tokens, std::abs(*pool.unexplained_gib),
                               *pool.unexplained_gib > 0 ? "are unexplained"
                                                         : "more than the rule allows"));
    } catch (const InputError& error) {
      result_->notes.push_back(std::string("the memory rule cannot be applied: ") + error.what());
    }
  }

  void limit(const char* name, std::int64_t simulated, const char* what) {
    const Fact* logged = measurement_.fact(name);
    if (logged == nullptr || !logged->number || *logged->number <= 0) return;
    if (whole(*logged->number) == simulated) return;
    tell(*logged, fmt::format("{:.0f} {}, the scenario has {}", *logged->number, what, simulated));
  }

  void gpus() {
    const Fact* tp = measurement_.fact("tp_size");
    if (tp == nullptr || !tp->number) return;
    if (whole<int>(*tp->number) == deployment_.scenario().parallel.tp) return;
    tell(*tp, fmt::format("tensor parallelism {:.0f}, the scenario has {}", *tp->number,
                          deployment_.scenario().parallel.tp));
  }

  const Measurement& measurement_;
  const Deployment& deployment_;
  CalibrationResult* result_;
};

// Decode steps between two lines, by their clock and their throughput; constant in one log.
void check_intervals(const Measurement& measurement, const imports::DecodeSamples& samples,
                     CalibrationResult* result) {
  struct Count {
    const DecodeSample* sample;
    double steps;
  };
  std::vector<Count> counts;
  std::vector<double> sorted;
  const double resolution = join::resolution_of(join::steady_windows(samples));
  for (const DecodeSample& sample : samples.samples) {
    const bool told = sample.source == imports::StepSource::sglang_decode_line && sample.start_s &&
                      sample.end_s && *sample.end_s > *sample.start_s;
    if (!told) continue;
    counts.push_back({&sample, (*sample.end_s - *sample.start_s) / sample.step_s});
    sorted.push_back(counts.back().steps);
  }
  if (counts.size() < 3) return;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  int other = 0;
  const DecodeSample* first = nullptr;
  double first_steps = 0;
  for (const Count& count : counts) {
    const double slack = 0.1 * usual + 1 + 1.5 * resolution / count.sample->step_s;
    if (std::abs(count.steps - usual) <= slack) continue;
    if (other++ > 0) continue;
    first = count.sample;
    first_steps = count.steps;
  }
  if (first == nullptr) return;
  result->contradictions.push_back(fmt::format(
      "{}: throughput and running requests make {:.0f} steps of the time since the "
      "line before, elsewhere {:.0f} ({} of {} lines): the clock or the throughput is "
      "not what it seems",
      place(measurement, first->file, first->line), first_steps, usual, other, counts.size()));
}

void check_benchmark(const Measurement& measurement, const imports::DecodeSamples& samples,
                     CalibrationResult* result) {
  const Series* runs = measurement.find("bench_runs");
  double best = 0;
  for (const DecodeSample& sample : samples.samples)
    best = std::max(best, sample.running_requests / sample.step_s);
  if (runs == nullptr || best <= 0) return;
  const SeriesReader read(*runs);
  runs->for_each([&](const Series::Row& row) {
    const auto throughput = read(row, "output_throughput_tok_per_s");
    if (!throughput || *throughput <= best * (1 + kThroughputBand)) return;
    result->contradictions.push_back(
        fmt::format("{}: {:.0f} output tok/s, but no decode line of the log makes more than {:.0f}",
                    place(measurement, row.file, row.line), *throughput, best));
  });
}

}  // namespace

void check_engine(const Measurement& measurement, const Deployment& deployment,
                  CalibrationResult* result) {
  EngineCheck(measurement, deployment, result).run();
}

void check_throughput(const Measurement& measurement, const imports::DecodeSamples& samples,
                      CalibrationResult* result) {
  check_intervals(measurement, samples, result);
  check_benchmark(measurement, samples, result);
}

}  // namespace plateau
