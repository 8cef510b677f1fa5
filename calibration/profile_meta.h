// meta.yaml of a calibration profile: the device, what is not in a table, and where everything
// comes from.
//
//   kind: fitted | measured | scaled
//   device: {name: rtx-pro-6000-server, memory: 97887 MiB, memory_bandwidth: 1792 GB/s,
//     bf16: 467.8 TFLOP/s, fp8: .., fp4: .., power_limit: 600 W, sm_clock: 2430 MHz, sms: 188,
//     compute_capability: 12}
//   launch: every term of LaunchLaw as TERM = {value: 1.2 us, band: 0.3, source: measured, note:
//   ..};
//     band is relative; source is measured, interpolated, extrapolated or assumed
//   power: {idle: TERM, wait: TERM, host_gap: TERM}; kind fitted also {busy: TERM, memory: TERM,
//     tensor: TERM, memory_rate: 1490 GB/s, bf16_rate: 427 TFLOP/s}
//   board: A (the profile's own); boards: {A: {gain: 1}, C: {gain: 0.80, note: ..}}, watts above
//   the
//     floor relative to it
//   kind fitted also
//     interconnect: nvlink | pcie | pcie_host_staged, what the collectives were measured on
//     weight_stream: TERM, fastest read of data that no cache holds
//     small_kernel: TERM, time of an elementwise kernel with nothing to do
//   kind measured also
//     fill_from: {profile: h200-sxm/.., operations: [gemm, moe_experts], note}, another
//     measurement of the same kernels, for geometries that this one lacks
//   kind scaled, a device without tables of its own, also
//     scaled_from: h200-sxm/sglang-0.5.14, a fitted profile: its shares of the roofline on this
//     device, its collectives as they are, its launch constants unless a launch block is given;
//     idle: 80 W, optional. power may be left out: watts then come from models/power_fallback.h
//   clock: {max: 2430 MHz, min, knee, voltage_rise, static: 100 W, base_share, source, note}
//   provenance: {source, licence, date, engine, driver, tool, changes}
//   tables: {laws.csv: {noise: 0.02}, ...}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/profile.h"
#include "models/clock.h"
#include "models/power.h"

namespace plateau {

struct ProfileMeta {
  std::string kind;
  DeviceSpec device;
  LaunchLaw launch;
  PowerStates power_states;
  PowerLaw power;
  ClockLaw clock;
  std::string board;                     // the profile's own
  std::map<std::string, double> boards;  // name -> gain
  std::string scaled_from;               // "": tables of its own
  std::optional<double> idle_w;          // scaled without a power block: known idle watts
  double time_band = 0;                  // relative, beside the tables' own
  bool power_known = true;               // false: watts are of models/power_fallback.h
  std::vector<std::string> warnings;     // what a user of this profile must know
  std::string fill_from;                 // measured only; "": none
  std::vector<std::string> fill_operations;
  Estimate weight_stream;  // bytes/s; 0: not given
  Estimate small_kernel;   // s; 0: not given
  Interconnect interconnect = Interconnect::nvlink;
  Provenance provenance;
};

// FNV-1a 64, hex.
std::string digest_of(std::string_view content);

// Reads <folder>/meta.yaml and digests the tables it names. Throws InputError.
ProfileMeta read_profile_meta(const std::string& folder, const std::string& profile_name);

}  // namespace plateau
