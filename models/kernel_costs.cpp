#include "models/kernel_costs.h"

namespace plateau {

const char* name_of(Interconnect interconnect) {
  switch (interconnect) {
    case Interconnect::nvlink:
      return "nvlink";
    case Interconnect::pcie:
      return "pcie";
    case Interconnect::pcie_host_staged:
      return "pcie_host_staged";
  }
  return "?";
}

const ClockLaw& KernelCosts::clock() const {
  static const ClockLaw kUnknown;
  return kUnknown;
}

}  // namespace plateau
