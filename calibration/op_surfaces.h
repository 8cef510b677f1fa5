// All measurements of one operation: one surface per measured geometry, and one over all of them
// for the rest.
//
// A geometry is what a model and its tensor parallelism fix (a GEMM's n and k, the heads of
// attention, the size and number of experts); what changes from step to step (tokens, context,
// active experts) is interpolated within it. A shape of a geometry that was never measured is
// interpolated between geometries, from a thinned set of all points. Surfaces are solved when first
// asked for: a run touches a few of many. Safe to share between threads.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "calibration/measured_rows.h"
#include "calibration/scatter_surface.h"
#include "models/device_spec.h"

namespace plateau {

class OpSurfaces {
 public:
  using Geometry = std::array<double, 4>;
  static Geometry geometry_of(const OpCall& call);

  OpSurfaces(const DeviceSpec& device, double floor_s);

  void add(const OpCall& call, double seconds);
  bool knows(const OpCall& call) const { return families_.count(geometry_of(call)) > 0; }

  struct Answer {
    double seconds = 0;
    Source source = Source::measured;
    bool own_geometry = true;
    double nearest = 0;  // distance to the closest point, in scaled logs
  };
  Answer at(const OpCall& call) const;

 private:
  struct Lazy {
    std::vector<ScatterSurface::Point> points;
    mutable std::once_flag once;
    mutable ScatterSurface surface;
  };
  static const ScatterSurface& solved(const Lazy& lazy, std::size_t most_points);
  const Lazy& general() const;

  DeviceSpec device_;
  double floor_s_;
  std::map<Geometry, std::unique_ptr<Lazy>> families_;
  mutable std::once_flag general_once_;
  mutable std::unique_ptr<Lazy> general_;
};

}  // namespace plateau
