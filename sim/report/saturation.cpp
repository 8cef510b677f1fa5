#include "sim/report/saturation.h"

#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

using Verdict = SaturationReport::Verdict;

constexpr double kStudent = 2.131;  // t of 15 degrees of freedom, 97.5 %
constexpr std::int64_t kFewestArrivals = 20;
constexpr double kWaitingShare = 0.25;

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::stable:
      return "stable";
    case Verdict::rising:
      return "rising";
    case Verdict::saturated:
      return "saturated";
    case Verdict::unknown:
      break;
  }
  return "unknown";
}

Backlog::Slice& Backlog::slice_at(SimTime time) {
  while (time / width_ >= static_cast<std::int64_t>(kSlices)) {
    width_ *= 2;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (i % 2 == 0) {
        slices_[i / 2] = slices_[i];
      } else {
        slices_[i / 2].add(slices_[i]);
      }
    }
    slices_.resize((slices_.size() + 1) / 2);
  }
  const auto index = static_cast<std::size_t>(time / width_);
  if (index >= slices_.size()) slices_.resize(index + 1);
  return slices_[index];
}

void Backlog::add_request(SimTime sent, SimTime finished) {
  ++slice_at(sent).sent;
  ++slice_at(finished).finished;
  last_sent_ = std::max(last_sent_, sent);
}

void Backlog::add_waiting(SimTime end, SimTime length, double waiting) {
  if (waiting > 0) slice_at(end).waiting += waiting * to_seconds(length);
}

SaturationReport Backlog::report() const {
  SaturationReport report;
  // Whole slices only: the last one may lie partly beyond the last arrival.
  const auto end = static_cast<std::size_t>(last_sent_ / width_);
  const std::size_t each = end / 2 / kCuts;  // slices of a part
  const std::size_t begin = end - each * kCuts;
  if (each == 0) return report;
  for (std::size_t i = 0; i < begin; ++i)
    report.backlog_middle += static_cast<double>(slices_[i].sent - slices_[i].finished);
  std::array<Slice, kCuts> parts{};
  Slice whole;
  for (std::size_t i = begin; i < end; ++i) {
    parts[(i - begin) / each].add(slices_[i]);
    whole.add(slices_[i]);
  }
  const double seconds = to_seconds(width_) * static_cast<double>(each * kCuts);
  report.backlog_end = report.backlog_middle + whole.growth();
  report.arrivals_per_s = static_cast<double>(whole.sent) / seconds;
  report.completions_per_s = static_cast<double>(whole.finished) / seconds;
  report.waiting_first = waiting_of(parts, 0, kCuts / 4) / (seconds / 4);
  report.waiting_last = waiting_of(parts, kCuts - kCuts / 4, kCuts) / (seconds / 4);
  if (whole.sent < kFewestArrivals) return report;
  const double band = kStudent * standard_error(parts, whole.growth() / kCuts);
  report.growth_per_s = whole.growth() / seconds;
  report.growth_per_s_low = (whole.growth() - band) / seconds;
  report.growth_per_s_high = (whole.growth() + band) / seconds;
  const bool grows = whole.growth() >= 1 && whole.growth() > band;
  const bool waits = *report.waiting_last - *report.waiting_first >= kWaitingShare * whole.growth();
  report.verdict = !grows ? Verdict::stable : waits ? Verdict::saturated : Verdict::rising;
  return report;
}

double Backlog::standard_error(const std::array<Slice, kCuts>& parts, double mean) {
  double squares = 0;
  for (const Slice& part : parts) squares += (part.growth() - mean) * (part.growth() - mean);
  return std::sqrt(squares / (kCuts - 1) * kCuts);
}

double Backlog::waiting_of(const std::array<Slice, kCuts>& parts, std::size_t from,
                           std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += parts[i].waiting;
  return sum;
}

}  // namespace plateau
