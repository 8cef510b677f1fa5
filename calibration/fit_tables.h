// From published kernel tables to a profile: `plateau calibrate`.
//
// Reads the layout of AIConfigurator's tables as CSV:
//   <tables>/<system>/<engine>/<op>.csv.gz      engine: "sglang-0.5.14"
//   <tables>/<system>/<nccl>/nccl.csv.gz        nccl: "nccl-2.29.2"; message_size in elements
// and a hand-written <data>/<device>/device.yaml (device, launch, power, clock: what no table
// knows). Writes <data>/<device>/<engine>/{meta.yaml, laws.csv, curves.csv, residuals.csv}; the
// same input gives the same bytes. Raw tables are not copied: laws, curve points and residuals are.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/fit_laws.h"
#include "calibration/fit/table_rows.h"

namespace plateau {

struct FitRequest {
  std::string table_folder;
  std::string system;       // "rtx_pro_6000_server"
  std::string engine;       // "sglang-0.5.14"
  std::string nccl;         // "nccl-2.29.2"
  std::string borrow_from;  // engine whose table stands in where `engine` has none; may be empty
  std::string data_folder;  // calibration/data
  std::string device;       // "rtx-pro-6000-server"
  std::string source;       // for meta.yaml: where the tables come from
  std::string licence;
  std::string date;
};

struct FitSummary {
  std::vector<TableUse> tables;
  std::vector<Residual> residuals;
  std::vector<std::string> notes;  // what was borrowed, what is missing
  std::vector<std::string> files;  // written
  double weight_stream = 0;        // bytes/s
  int laws = 0;
};

// Throws InputError: a missing table that nothing stands in for, a missing column, a non-number.
FitSummary fit_profile(const FitRequest& request);

}  // namespace plateau
