#include "sim/validate/step_log.h"

#include <algorithm>

namespace plateau {

void StepLog::draw(double until_s, double watts) {
  const double from = stretches_.empty() ? 0 : stretches_.back().end_s;
  if (until_s <= from) return;
  const double before = stretches_.empty() ? 0 : stretches_.back().joules;
  stretches_.push_back({until_s, before + watts * (until_s - from)});
}

void StepLog::on_step(const StepRecord& step) {
  if (step.replica != 0) return;
  const double start = to_seconds(step.start);
  const double end = to_seconds(step.end);
  draw(start - to_seconds(step.host_gap), idle_w_);
  draw(start, host_gap_w_);
  draw(end, end > start ? step.cost->joules / (end - start) : 0);
  const bool decode = step.shape->decode_sequences > 0;
  steps_.push_back({decode, start, end,
                    decode ? step.shape->decode_sequences : step.shape->prefill_sequences,
                    decode ? step.shape->decode_context_tokens : step.shape->prefill_tokens});
}

double StepLog::joules_at(double s) const {
  if (s <= 0) return idle_w_ * s;
  const auto after =
      std::lower_bound(stretches_.begin(), stretches_.end(), s,
                       [](const Stretch& stretch, double at) { return stretch.end_s < at; });
  if (after == stretches_.end()) {
    if (stretches_.empty()) return idle_w_ * s;
    return stretches_.back().joules + idle_w_ * (s - stretches_.back().end_s);
  }
  const double from = after == stretches_.begin() ? 0 : (after - 1)->end_s;
  const double before = after == stretches_.begin() ? 0 : (after - 1)->joules;
  return before + (after->joules - before) * (s - from) / (after->end_s - from);
}

double StepLog::metered(double at_s, double window_s) const {
  return (joules_at(at_s) - joules_at(at_s - window_s)) / window_s;
}

}  // namespace plateau
