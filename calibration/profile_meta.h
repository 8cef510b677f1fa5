// meta.yaml of a calibration profile: the device, what is not in a table, and where everything
// comes from.
//
//   kind: fitted | measured
//   device: {name, memory: 97887 MiB, memory_bandwidth: .. GB/s, bf16: .. TFLOPS, fp8, fp4,
//   power_limit: 600 W, sm_clock: 2430 MHz, sms, compute_capability} launch: each term of LaunchLaw
//   {value: 1.2 us, band: 0.3, source: measured | assumed, note} power: {idle, wait, host_gap,
//   busy, memory, memory_rate, tensor, bf16_rate}, each with band, source, note boards: {A: {gain:
//   1}, C: {gain: 0.80, note}}   watts above the floor relative to the profile's own board
//   provenance: {source, licence, date, engine, driver, tool}
//   tables: {laws.csv: {noise: 0.02}, ...}
#pragma once

#include <map>
#include <string>

#include "calibration/profile.h"
#include "models/power.h"

namespace plateau {

struct ProfileMeta {
  std::string kind;
  DeviceSpec device;
  LaunchLaw launch;
  PowerStates power_states;
  PowerLaw power;
  std::string board;                     // the profile's own
  std::map<std::string, double> boards;  // name -> gain
  Provenance provenance;
};

// Reads <folder>/meta.yaml and digests the tables it names. Throws InputError.
ProfileMeta read_profile_meta(const std::string& folder, const std::string& profile_name);

}  // namespace plateau
