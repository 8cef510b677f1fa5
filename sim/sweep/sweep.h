// A sweep: one scenario at many points, one row of figures each.
//
// A row is the varied values, a status and the figures of sim/sweep/figures.h. A point that cannot
// be (weights that do not fit, TP that does not divide the heads) is a row with its reason. A key
// that does not exist, or one of which no value can be read, ends the sweep before it starts.
//
// A row's line is its cells behind each other, separated by tabs: what threads, ranks and the file
// of an interrupted sweep hand to each other, so that the outputs are the same bytes whoever
// computed a row.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/sweep/point_runner.h"
#include "sim/sweep/point_space.h"

namespace plateau {

struct SweepRequest {
  std::string scenario;  // file
  ScenarioOptions options;
  SpaceRequest space;
  int repetitions = 0;  // of each point, for intervals; 0: none
};

struct SweepRow {
  bool ok = false;
  std::string reason;              // infeasible: why
  std::vector<std::string> cells;  // one per column; all "" when infeasible
};

std::string line_of(const SweepRow& row);
SweepRow row_of(const std::string& line);

class Sweep {
 public:
  explicit Sweep(const SweepRequest& request);  // throws InputError

  const PointBase& base() const { return base_; }
  const PointSpace& space() const { return space_; }
  int repetitions() const { return repetitions_; }
  const std::vector<std::string>& columns() const { return columns_; }  // of a row's cells
  std::size_t numbers() const { return numbers_; }  // so many columns hold numbers, the rest words

  // Of everything that a row depends on: two sweeps with the same text have the same rows.
  std::string fingerprint() const;

  PointRunner runner() { return PointRunner(base_, calibration_); }
  SweepRow row(std::int64_t point, PointRunner& runner) const;
  std::vector<std::string> sets_of(std::int64_t point) const;  // "key=value"

 private:
  void check_keys();
  void check_values(const Variation& key);
  void add_device(std::vector<std::string>* sets) const;
  std::vector<std::string> cells_of(const Scenario& scenario, PointRunner& runner) const;
  void add_intervals(const Scenario& scenario, PointRunner& runner,
                     std::vector<std::string>* cells) const;

  PointBase base_;
  PointSpace space_;
  int repetitions_ = 0;
  std::vector<std::string> columns_;
  std::size_t numbers_ = 0;
  SharedCalibration calibration_;
};

// Problems of one point in one line, without places: "parallel.tp: 3 contradicts ... (hint)".
std::string reason_of(const InputError& error);

// Computes the rows of `points` on `threads` threads and hands each line to `put`, one at a time
// but in any order. What a thread or `put` throws stops all and leaves from here.
void compute_rows(Sweep& sweep, const std::vector<std::int64_t>& points, int threads,
                  const std::function<void(std::int64_t point, std::string line)>& put);

}  // namespace plateau
