// Predictions beside measurements: every row of a measured CSV overlays a base scenario, is
// predicted and compared.
//
// Two kinds of row, told apart by their columns: a decode step at a fixed batch (batch, ctx_tokens,
// step_ms) and a serving run (concurrency, ..., output_tok_s). Input columns set scenario keys,
// measured columns become metrics; the tables in validation.cpp list both. Nothing of a row is used
// to calibrate; no factor per row exists.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plateau {

struct MetricPair {
  double measured = 0;
  double predicted = 0;
  std::optional<double> low;  // p5 and p95 of the prediction
  std::optional<double> high;
  double error() const { return predicted / measured - 1; }
  std::optional<bool> inside() const {  // the measurement, in the prediction's interval
    if (!low || !high) return std::nullopt;
    return measured >= *low && measured <= *high;
  }
};

struct ValidationRow {
  int line = 0;
  std::string name;                           // inputs that differ between rows, in words
  std::map<std::string, std::string> inputs;  // column -> text
  std::map<std::string, MetricPair> metrics;
  std::vector<std::string> warnings;
  // Of a scenario's own measured block (sim/validate/measured_block.h); empty for a row of a table.
  std::string file;
  std::string source;
  std::string note;
  std::string profile;
};

struct MetricSummary {
  int n = 0;
  double mape_pct = 0;
  double bias_pct = 0;   // mean signed error
  double worst_pct = 0;  // largest absolute error
  int worst_line = 0;
  std::string worst_file;              // of a scenario
  std::optional<double> coverage_pct;  // of the predictions' intervals
};

struct TimedValue {
  double s = 0;
  double value = 0;
};
struct MeasuredSeries {  // of a time series, to draw
  std::string name;
  std::string unit;
  std::vector<TimedValue> measured;
  std::vector<TimedValue> predicted;
};

struct Validation {
  std::string file;
  std::string base;
  std::string profile;
  std::vector<std::string> files;  // scenarios with measured blocks
  std::vector<ValidationRow> rows;
  std::map<std::string, MetricSummary> metrics;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;      // how the file was understood
  std::vector<MeasuredSeries> series;  // of a trace or a power log; then rows are steps or samples
};

struct ValidationOptions {
  std::string measured;  // CSV
  std::string base;      // scenario
  std::string data_dir;
  std::vector<std::string> sets;  // over the base, under the row
};

// Throws InputError naming every bad row and column: unknown columns, missing cells, impossible
// values.
Validation validate(const ValidationOptions& options);

// Measured columns that rows of steps and runs may have.
std::vector<std::string> measured_columns();

std::map<std::string, MetricSummary> summarise(const std::vector<ValidationRow>& rows);

// "output_tok_per_s=3" -> metrics whose MAPE misses its bar, in words; empty when all are met.
// Throws InputError.
std::vector<std::string> missed_bars(const Validation& validation,
                                     const std::vector<std::string>& bars);

std::string validation_text(const Validation& validation, int columns = 80);
std::string validation_json(const Validation& validation);
// Predicted against measured, one panel per metric; a self-contained SVG.
std::string validation_svg(const Validation& validation);

}  // namespace plateau
