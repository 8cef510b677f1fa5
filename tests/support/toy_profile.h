// A small, complete calibration profile in a temporary folder, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "calibration/csv.h"

namespace plateau::toy {

// What device.yaml holds: device, launch, power.
inline std::string constants() {
  return R"(device: {name: toy, memory: 10 GiB, memory_bandwidth: 1 TB/s, bf16: 100 TFLOP/s, fp8: 200 TFLOP/s, power_limit: 300 W, sm_clock: 2 GHz, sms: 10, compute_capability: 9}
launch:
  graph_gap: {value: 1.2 us, band: 0.3, source: measured}
  graph_layer: {value: 0 us, band: 0, source: measured}
  graph_step: {value: 10 us, band: 2, source: assumed, note: a guess}
  eager_gap: {value: 1 us, band: 0, source: assumed}
  eager_layer: {value: 1 us, band: 0, source: assumed}
  eager_kernel_launch: {value: 6 us, band: 0.5, source: assumed}
  eager_layer_host: {value: 0 us, band: 0, source: assumed}
  eager_step: {value: 1 ms, band: 0, source: assumed}
  host_step: {value: 1 ms, band: 0, source: assumed}
  host_request: {value: 1 us, band: 0, source: assumed}
small_kernel: {value: 2 us, band: 0.5, source: assumed}
interconnect: pcie
power:
  idle: {value: 50 W, band: 0.1, source: measured}
  wait: {value: 60 W, band: 0.1, source: measured}
  host_gap: {value: 55 W, band: 0.1, source: assumed}
  busy: {value: 70 W, band: 0.1, source: assumed}
  memory: {value: 150 W, band: 0.1, source: measured}
  tensor: {value: 290 W, band: 0.1, source: measured}
  memory_rate: 900 GB/s
  bf16_rate: 80 TFLOP/s
board: A
boards: {A: {gain: 1}, B: {gain: 0.8, note: cooler}}
)";
}

// A whole meta.yaml of kind fitted with tables laws.csv and curves.csv.
inline std::string meta() {
  return "kind: fitted\n" + constants() +
         R"(weight_stream: {value: 900 GB/s, band: 0.05, source: measured}
provenance: {source: here, licence: none, date: "2026-01-01", engine: toy 1, tool: by hand}
tables:
  laws.csv: {noise: 0.02}
  curves.csv: {noise: 0.02}
)";
}

// `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);  // throws when it is not there
}

// A fresh, empty folder of this name below the temporary directory.
inline std::string folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("plateau_test_" + name + "_" + std::to_string(getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

// Writes <root>/calibration/data/toy/p/{meta.yaml, laws.csv, curves.csv} and returns root.
inline std::string write_profile(const std::string& name, const std::string& meta,
                                 const std::string& laws, const std::string& curves) {
  const std::string root = folder(name);
  const std::string profile = root + "/calibration/data/toy/p";
  std::filesystem::create_directories(profile);
  write_file(profile + "/meta.yaml", meta);
  write_file(profile + "/laws.csv", laws);
  write_file(profile + "/curves.csv", curves);
  return root;
}

}  // namespace plateau::toy
