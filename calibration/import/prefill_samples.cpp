#include "calibration/import/prefill_samples.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "calibration/import/series_reader.h"
#include "calibration/whole.h"

namespace plateau::imports {

namespace {

constexpr double kAlike = 0.02;  // of two batches' tokens

using Place = std::pair<int, std::int64_t>;

class SglangPrefills {
 public:
  SglangPrefills(const Measurement& measurement, std::vector<PrefillSample>& out) : out_(out) {
    for (const char* name : {"decode", "retraction"}) {
      const Series* series = measurement.find(name);
      if (series == nullptr) continue;
      series->for_each([&](const Series::Row& row) { others_.insert({row.file, row.line}); });
    }
  }

  void row(const Series::Row& row, const SeriesReader& read) {
    const Batch batch{{row.file, row.line},
                      read(row, "new_requests"),
                      read(row, "new_tokens"),
                      read(row, "running_requests"),
                      read(row, "queue_requests")};
    const int rank = whole<int>(read(row, "dp_rank").value_or(-1));
    const auto before = std::exchange(last_[{row.file, rank}], batch);
    const auto throughput = read(row, "input_throughput_tok_per_s");
    if (!throughput || *throughput <= 0 || !follows(before, batch)) return;
    out_.push_back({row.file, row.line, *before->requests, *before->tokens,
                    read(row, "cached_tokens").value_or(0), *before->tokens / *throughput, true});
  }

 private:
  struct Batch {
    Place place;
    std::optional<double> requests;
    std::optional<double> tokens;
    std::optional<double> running;
    std::optional<double> queue;
  };

  bool follows(const std::optional<Batch>& a, const Batch& b) const {
    if (!a || !a->requests || !a->tokens || !b.tokens || !a->queue || !a->running || !b.running)
      return false;
    const auto between = others_.upper_bound(a->place);
    const bool alone = between == others_.end() || *between > b.place;
    const bool alike = std::abs(*a->tokens - *b.tokens) <= kAlike * *a->tokens;
    return alone && alike && *a->tokens > 0 && *a->requests > 0 && *a->queue > 0 &&
           *b.running == *a->running + *a->requests;
  }

  std::vector<PrefillSample>& out_;
  std::set<Place> others_;
  std::map<std::pair<int, int>, std::optional<Batch>> last_;  // by (file, rank)
};

void add_iterations(const Series& series, std::vector<PrefillSample>& out) {
  const SeriesReader read(series);
  series.for_each([&](const Series::Row& row) {
    const auto requests = read(row, "context_requests");
    const auto tokens = read(row, "context_tokens");
    const auto generating = read(row, "generation_requests");
    const auto step_ms = read(row, "step_ms");
    if (!requests || !tokens || !step_ms || !generating || *generating > 0) return;
    if (*requests <= 0 || *tokens <= 0 || *step_ms <= 0) return;
    out.push_back({row.file, row.line, *requests, *tokens, 0, *step_ms / 1000, true});
  });
}

void add_trace(const Series& series, std::vector<PrefillSample>& out) {
  const SeriesReader read(series);
  series.for_each([&](const Series::Row& row) {
    if (read.word(row, "phase") != "prefill") return;
    const auto requests = read(row, "requests");
    const auto tokens = read(row, "tokens");
    const auto step_ms = read(row, "step_ms");
    if (!requests || !tokens || !step_ms || *requests <= 0 || *tokens <= 0 || *step_ms <= 0) return;
    out.push_back({row.file, row.line, *requests, *tokens, 0, *step_ms / 1000, false});
  });
}

}  // namespace

std::vector<PrefillSample> prefill_samples(const Measurement& measurement) {
  std::vector<PrefillSample> out;
  if (const Series* prefill = measurement.find("prefill")) {
    SglangPrefills samples(measurement, out);
    const SeriesReader read(*prefill);
    prefill->for_each([&](const Series::Row& row) { samples.row(row, read); });
  }
  if (const Series* iterations = measurement.find("iterations")) add_iterations(*iterations, out);
  if (const Series* steps = measurement.find("steps")) add_trace(*steps, out);
  return out;
}

}  // namespace plateau::imports
