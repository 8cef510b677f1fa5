// What a simulated run did, step by step, and what a board's meter would have shown.
#pragma once

#include <vector>

#include "sim/engine/observer.h"

namespace plateau {

struct LoggedStep {
  bool decode = false;
  double start_s = 0;
  double end_s = 0;
  double requests = 0;  // of the batch
  double tokens = 0;    // prefill: prompt tokens; decode: context tokens after the step
};

class StepLog : public Observer {
 public:
  StepLog(double idle_w, double host_gap_w) : idle_w_(idle_w), host_gap_w_(host_gap_w) {}

  void on_step(const StepRecord& step) override;

  const std::vector<LoggedStep>& steps() const { return steps_; }
  double end_s() const { return steps_.empty() ? 0 : steps_.back().end_s; }
  // Mean watts of the `window_s` before `at_s`; idle before the run, after it too.
  double metered(double at_s, double window_s) const;

 private:
  struct Stretch {
    double end_s;
    double joules;  // since the run began
  };
  void draw(double until_s, double watts);
  double joules_at(double s) const;

  double idle_w_;
  double host_gap_w_;
  std::vector<LoggedStep> steps_;
  std::vector<Stretch> stretches_;
};

}  // namespace plateau
