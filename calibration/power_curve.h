// Watts of one configuration (model, GPU, parallelism) against its batch, from a few measured runs.
//
//   ln P(B) = a + b (x - 6) + h(x) + noise,    x = log2 B
//   a unknown, b ~ N(0.05, 0.03),  h a Gaussian process: size 0.10, length 2 (batch x 4), noise
//   0.03
//
// A smooth curve that rises by some 5 % with each doubling and may bend, flatten or fall again past
// its peak, as real series do; beyond the measured batches it returns to the slope. The four
// constants are those that miss least, a batch left out at a time, on the dense models of ML.ENERGY
// v3; mixture-of-experts series took no part in the choice. The band is the process's own
// 90 %. Wrong where a configuration changes at a batch (another kernel, preemption, a vision
// encoder that becomes the bottleneck): three series of multimodal models miss by 23 %.
#pragma once

#include <string>
#include <vector>

#include "calibration/series_table.h"
#include "models/estimate.h"

namespace plateau {

struct PowerRun {
  double batch = 0;
  double watts = 0;  // one GPU, mean over the run
  int line = 0;
};

class PowerCurve {
 public:
  explicit PowerCurve(std::vector<PowerRun> runs);  // at least one

  Estimate watts(double batch) const;
  const std::vector<PowerRun>& runs() const { return runs_; }

 private:
  double covariance(double x, double other) const;

  std::vector<PowerRun> runs_;
  std::vector<double> weights_;    // inverse covariance times centred observations
  std::vector<double> precision_;  // inverse covariance, row-major
};

struct LeftOutRun {
  PowerRun run;
  Estimate predicted;  // by the other runs of its series
  double error() const { return predicted.value / run.watts - 1; }
};

struct PowerSeries {
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<PowerRun> runs;
  std::vector<LeftOutRun> left_out;  // empty below three batches
  double mean_error = 0;             // of absolute relative errors
  double worst_error = 0;
  double edge_error = 0;  // mean of the smallest and the largest batch
};

struct PowerRunsSummary {
  std::vector<PowerSeries> series;  // in the file's order
  SkippedRows skipped;
};

// Columns: a batch (batch, mean_running or max_num_seqs) and watts of one GPU (power_w, gpu_w_mean
// or power_per_gpu_w); columns that name the configuration are grouped by. `where`: column=value.
// Throws InputError for a cell that is no positive number.
PowerRunsSummary read_power_runs(const std::string& path, const std::vector<std::string>& where);

// The curve of a file that holds one configuration. Throws InputError when it holds several.
PowerCurve read_power_curve(const std::string& path);

}  // namespace plateau
