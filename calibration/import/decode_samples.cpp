#include "calibration/import/decode_samples.h"

#include <algorithm>
#include <utility>

#include "calibration/import/series_reader.h"
#include "calibration/whole.h"

namespace plateau::imports {
namespace {

using Reader = SeriesReader;
using Place = std::pair<int, std::int64_t>;  // file, line

// Sorted places of the records that spoil a window.
std::vector<Place> places_of(const Measurement& measurement, const char* name) {
  std::vector<Place> places;
  for (const std::string& series : {std::string(name), std::string(name) + "_other_ranks"}) {
    if (const Series* found = measurement.find(series)) {
      found->for_each([&](const Series::Row& row) { places.emplace_back(row.file, row.line); });
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

bool any_between(const std::vector<Place>& places, const Place& after, const Place& before) {
  const auto next = std::upper_bound(places.begin(), places.end(), after);
  return next != places.end() && *next < before;
}

struct DecodeLine {
  Place place;
  std::optional<double> running;
  std::optional<double> throughput;
  std::optional<double> held;
  std::optional<double> local_s;
};

class SglangSamples {
 public:
  SglangSamples(const Measurement& measurement, DecodeSamples& out)
      : out_(out),
        prefills_(places_of(measurement, "prefill")),
        retractions_(places_of(measurement, "retraction")) {}

  void row(const Series::Row& row, const Reader& read) {
    DecodeLine line{{row.file, row.line},
                    read(row, "running_requests"),
                    read(row, "gen_throughput_tok_per_s"),
                    read(row, "kv_used_tokens"),
                    read(row, "local_s")};
    const int rank = whole<int>(read(row, "dp_rank").value_or(-1));
    auto& last = before_[{row.file, rank}];
    const std::optional<DecodeLine> before = std::exchange(last, line);
    const std::optional<DropReason> reason = reason_to_drop(line, before);
    if (reason) {
      out_.dropped.push_back({row.file, row.line, *reason});
      return;
    }
    const std::optional<double> graph = read(row, "cuda_graph");
    DecodeSample sample{StepSource::sglang_decode_line, row.file, row.line, rank, *line.running};
    sample.held_tokens = line.held;
    sample.held_before = before->held;
    sample.step_s = *line.running * read(row, "accept_len_tokens").value_or(1) / *line.throughput;
    sample.start_s = before->local_s;
    sample.end_s = line.local_s;
    if (graph) sample.cuda_graph = *graph != 0;
    out_.samples.push_back(sample);
  }

 private:
  std::optional<DropReason> reason_to_drop(const DecodeLine& line,
                                           const std::optional<DecodeLine>& before) const {
    constexpr double kClockSlackSeconds = 2;
    if (!line.running || !line.throughput) return DropReason::incomplete;
    if (*line.running <= 0 || *line.throughput <= 0) return DropReason::nothing_ran;
    if (!before) return DropReason::first;
    const bool new_run =
        line.local_s && before->local_s && *line.local_s < *before->local_s - kClockSlackSeconds;
    if (new_run) return DropReason::first;
    if (any_between(prefills_, before->place, line.place)) return DropReason::prefill;
    if (any_between(retractions_, before->place, line.place)) return DropReason::retraction;
    if (before->running != line.running) return DropReason::running_changed;
    if (line.held && before->held && *line.held < *before->held) return DropReason::other_requests;
    return std::nullopt;
  }

  DecodeSamples& out_;
  std::vector<Place> prefills_;
  std::vector<Place> retractions_;
  std::map<std::pair<int, int>, std::optional<DecodeLine>> before_;  // by (file, rank)
};

// Tokens held, by the share of the pool in use and the pool's size.
class UsedPool {
 public:
  explicit UsedPool(const Measurement& measurement) {
    const Fact* pool = measurement.fact("kv_capacity_tokens");
    if (pool != nullptr) tokens_ = pool->number;
  }
  std::optional<double> held(const Series::Row& row, const Reader& read) const {
    const std::optional<double> used = read(row, "kv_usage_pct");
    return tokens_ && used ? std::optional(*used / 100 * *tokens_) : std::nullopt;
  }

 private:
  std::optional<double> tokens_;
};

void add_iterations(const Measurement& measurement, DecodeSamples& out) {
  const Series* series = measurement.find("iterations");
  if (series == nullptr) return;
  const Reader read(*series);
  const UsedPool pool(measurement);
  series->for_each([&](const Series::Row& row) {
    const auto drop = [&](DropReason reason) {
      out.dropped.push_back({row.file, row.line, reason});
    };
    const std::optional<double> prompts = read(row, "context_requests");
    const std::optional<double> running = read(row, "generation_requests");
    const std::optional<double> step_ms = read(row, "step_ms");
    if (!prompts || !running || !step_ms) return drop(DropReason::incomplete);
    if (read(row, "dummy")) return drop(DropReason::dummy);
    if (*prompts > 0) return drop(DropReason::prefill);
    if (*running <= 0) return drop(DropReason::nothing_ran);
    DecodeSample sample{StepSource::vllm_iteration, row.file, row.line, -1, *running};
    sample.held_tokens = pool.held(row, read);
    sample.step_s = *step_ms / 1000;
    out.samples.push_back(sample);
  });
}

// vLLM's statistics and the acceptance line that stands behind each, when speculation runs.
class VllmStatistics {
 public:
  VllmStatistics(const Measurement& measurement, DecodeSamples& out)
      : out_(out), pool_(measurement) {
    if (const Series* spec = measurement.find("spec_decoding")) {
      const Reader read(*spec);
      spec->for_each([&](const Series::Row& row) {
        const std::optional<double> accepted = read(row, "accept_len_tokens");
        if (accepted) acceptance_[{row.file, row.line}] = *accepted;
      });
    }
  }

  void row(const Series::Row& row, const Reader& read) {
    const std::optional<double> prompts = read(row, "prompt_throughput_tok_per_s");
    const std::optional<double> throughput = read(row, "gen_throughput_tok_per_s");
    const std::optional<double> running = read(row, "running_requests");
    const std::optional<double> waiting = read(row, "waiting_requests");
    const int engine = whole<int>(read(row, "engine").value_or(-1));
    auto& before = before_[{row.file, engine}];
    const auto counts = std::pair(running, waiting);
    const std::optional<double> now = time_of(row, read);
    const std::optional<double> then = std::exchange(times_[{row.file, engine}], now);
    const std::optional<std::pair<std::optional<double>, std::optional<double>>> last =
        std::exchange(before, counts);
    const auto drop = [&](DropReason reason) {
      out_.dropped.push_back({row.file, row.line, reason});
    };
    if (!prompts || !throughput || !running) return drop(DropReason::incomplete);
    if (*prompts > 0) return drop(DropReason::prefill);
    if (*running <= 0 || *throughput <= 0) return drop(DropReason::nothing_ran);
    if (!last) return drop(DropReason::first);
    if (*last != counts) return drop(DropReason::running_changed);
    double accepted = 1;
    if (!acceptance_.empty()) {
      constexpr std::int64_t kNear = 3;
      const auto near = acceptance_.lower_bound({row.file, row.line});
      if (near == acceptance_.end() || near->first.first != row.file ||
          near->first.second > row.line + kNear) {
        return drop(DropReason::no_acceptance);
      }
      accepted = near->second;
    }
    DecodeSample sample{StepSource::vllm_statistics, row.file, row.line, engine, *running};
    sample.held_tokens = pool_.held(row, read);
    sample.step_s = *running * accepted / *throughput;
    sample.start_s = then;
    sample.end_s = now;
    out_.samples.push_back(sample);
  }

 private:
  static std::optional<double> time_of(const Series::Row& row, const Reader& read) {
    for (const char* column : {"year_s", "local_s", "epoch_s", "run_s"}) {
      if (const auto time = read(row, column)) return time;
    }
    return std::nullopt;
  }

  std::map<std::pair<int, int>, std::optional<double>> times_;
  DecodeSamples& out_;
  UsedPool pool_;
  std::map<Place, double> acceptance_;
  std::map<std::pair<int, int>,
           std::optional<std::pair<std::optional<double>, std::optional<double>>>>
      before_;
};

void add_step_times(const Measurement& measurement, DecodeSamples& out) {
  const Series* series = measurement.find("step_times");
  if (series == nullptr) return;
  const Reader read(*series);
  series->for_each([&](const Series::Row& row) {
    const std::optional<double> batch = read(row, "batch_requests");
    const std::optional<double> step = read(row, "step_s");
    const bool good = batch && step && *batch > 0 && *step > 0;
    if (!good) return out.dropped.push_back({row.file, row.line, DropReason::incomplete});
    DecodeSample sample{StepSource::sglang_step_time, row.file, row.line,
                        whole<int>(read(row, "dp_rank").value_or(-1)), *batch};
    sample.step_s = *step;
    out.samples.push_back(sample);
  });
}

// Rows of a step trace in the order they ran.
class StepTrace {
 public:
  explicit StepTrace(DecodeSamples& out) : out_(out) {}

  void row(const Series::Row& row, const Reader& read) {
    const bool decode = read.word(row, "phase") == "decode";
    const std::optional<double> start = read(row, "run_s");
    if (decode && last_ && last_->file == row.file && start && last_->start_s &&
        *start > *last_->start_s) {
      DecodeSample period = *last_;
      period.step_s = *start - *last_->start_s;
      period.host_included = true;
      out_.samples.push_back(period);
    }
    last_.reset();
    if (decode) step(row, read, start);
  }

 private:
  void step(const Series::Row& row, const Reader& read, const std::optional<double>& start) {
    const std::optional<double> requests = read(row, "requests");
    const std::optional<double> step_ms = read(row, "step_ms");
    if (!requests || !step_ms || *requests <= 0 || *step_ms <= 0) {
      return out_.dropped.push_back({row.file, row.line, DropReason::incomplete});
    }
    DecodeSample sample{StepSource::step_trace, row.file, row.line, -1, *requests};
    sample.held_tokens = read(row, "tokens");
    sample.step_s = *step_ms / 1000;
    sample.host_included = false;
    sample.start_s = start;
    if (start) sample.end_s = *start + sample.step_s;
    out_.samples.push_back(sample);
    last_ = sample;
  }

  DecodeSamples& out_;
  std::optional<DecodeSample> last_;
};

}  // namespace

const char* name_of(DropReason reason) {
  switch (reason) {
    case DropReason::incomplete:
      return "a field is missing";
    case DropReason::first:
      return "first line of a rank: its window has no start";
    case DropReason::prefill:
      return "a prefill ran in the window";
    case DropReason::retraction:
      return "requests were retracted in the window";
    case DropReason::running_changed:
      return "the number of running requests changed";
    case DropReason::other_requests:
      return "other requests: fewer tokens held than before";
    case DropReason::nothing_ran:
      return "nothing ran";
    case DropReason::dummy:
      return "a dummy step";
    case DropReason::no_acceptance:
      return "no acceptance length near the line";
  }
  return "";
}

DecodeSamples decode_step_samples(const Measurement& measurement) {
  DecodeSamples out;
  if (const Series* decode = measurement.find("decode")) {
    SglangSamples samples(measurement, out);
    const Reader read(*decode);
    decode->for_each([&](const Series::Row& row) { samples.row(row, read); });
  }
  if (const Series* stats = measurement.find("engine_stats")) {
    VllmStatistics samples(measurement, out);
    const Reader read(*stats);
    stats->for_each([&](const Series::Row& row) { samples.row(row, read); });
  }
  if (const Series* steps = measurement.find("steps")) {
    StepTrace trace(out);
    const Reader read(*steps);
    steps->for_each([&](const Series::Row& row) { trace.row(row, read); });
  }
  add_iterations(measurement, out);
  add_step_times(measurement, out);
  return out;
}

}  // namespace plateau::imports
