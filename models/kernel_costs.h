// The seam between models and measurements: who knows what one operation costs on one GPU with one
// engine. calibration implements it from tables and fitted laws (calibration/profile.h); tests fake
// it.
#pragma once

#include "models/clock.h"
#include "models/device_spec.h"
#include "models/op.h"

namespace plateau {

enum class Interconnect : std::uint8_t {
  nvlink,
  pcie,
  pcie_host_staged
};  // pcie_host_staged: no peer-to-peer

const char* name_of(Interconnect interconnect);

// How kernels reach the GPU.
//   graph step = sum of operations + graph_gap * calls + graph_layer * layers + graph_step
//   eager step = the longer of   GPU: sum of operations + eager_gap * calls + eager_layer * layers
//                          and  host: eager_kernel_launch * kernels + eager_layer_host * layers +
//                          eager_step
// and between two steps the host needs host_step + host_request * running requests, which an
// overlapping scheduler hides behind the GPU and a plain one adds. All in seconds. A call is one
// operation of the step's list (tables time a call's own kernels back to back, so the gaps inside
// it are in its latency); `kernels` counts what the CPU launches.
struct LaunchLaw {
  Estimate graph_gap;
  Estimate graph_layer;
  Estimate graph_step;
  Estimate eager_gap;
  Estimate eager_layer;
  Estimate eager_kernel_launch;
  Estimate eager_layer_host;
  Estimate eager_step;
  Estimate host_step;
  Estimate host_request;
  Estimate host_slow;
  double host_slow_from = 0;
  double host_slow_share = 0;
};

// Watts of one board when no operation is priced: see models/power.h for how they are used.
struct PowerStates {
  Estimate idle;      // context resident, no kernel
  Estimate wait;      // spinning in a collective for a late peer
  Estimate host_gap;  // context resident, clocks up, between kernels
};

class KernelCosts {
 public:
  virtual ~KernelCosts() = default;
  // Throws std::invalid_argument when nothing is known to price the call with (never invents a
  // number).
  virtual OpCost cost(const OpCall& call) const = 0;
  virtual const DeviceSpec& device() const = 0;
  virtual const LaunchLaw& launch() const = 0;
  virtual const PowerStates& power_states() const = 0;
  virtual const ClockLaw& clock() const;  // unknown unless the profile has one
  // A step that computes prompts takes this many times the sum of its prices: what an engine's own
  // log says about its prefill (calibration/corrected_profile.h).
  virtual double prefill_time() const { return 1; }
};

}  // namespace plateau
