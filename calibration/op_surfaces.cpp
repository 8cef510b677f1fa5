#include "calibration/op_surfaces.h"

#include "calibration/op_features.h"

namespace plateau {

namespace {

// Solving costs the cube of the points, asking one the points themselves: a geometry has some tens
// to two hundred.
constexpr std::size_t kMostFamilyPoints = 260;
constexpr std::size_t kMostGeneralPoints = 360;

std::vector<ScatterSurface::Point> thinned(const std::vector<ScatterSurface::Point>& points,
                                           std::size_t most) {
  if (points.size() <= most) return points;
  std::vector<ScatterSurface::Point> kept;
  kept.reserve(most);
  for (std::size_t i = 0; i < most; ++i) kept.push_back(points[i * points.size() / most]);
  return kept;
}

}  // namespace

OpSurfaces::OpSurfaces(const DeviceSpec& device, double floor_s)
    : device_(device), floor_s_(floor_s) {}

OpSurfaces::Geometry OpSurfaces::geometry_of(const OpCall& call) {
  switch (call.op) {
    case Op::gemm:
    case Op::lm_head:
      return {call.n, call.k, static_cast<double>(call.weights), 0};
    case Op::attention_decode:
    case Op::attention_prefill:
      return {call.query_heads, call.kv_heads, call.head_dim, 0};
    case Op::moe_experts:
      return {call.hidden, call.inter, call.experts, call.top_k};
    case Op::moe_dispatch:
      return {call.hidden, call.experts, call.top_k, 0};
    default:
      return {call.k, call.top_k, 0, 0};
  }
}

void OpSurfaces::add(const OpCall& call, double seconds) {
  const OpPoint at = op_point(call, device_, floor_s_);
  std::unique_ptr<Lazy>& family = families_[geometry_of(call)];
  if (!family) family = std::make_unique<Lazy>();
  family->points.push_back(
      {{at.features.begin(), at.features.begin() + static_cast<std::ptrdiff_t>(at.dims)},
       at.reference_s,
       seconds});
}

const ScatterSurface& OpSurfaces::solved(const Lazy& lazy, std::size_t most_points) {
  std::call_once(lazy.once,
                 [&] { lazy.surface = ScatterSurface(thinned(lazy.points, most_points)); });
  return lazy.surface;
}

// Every geometry gives its share of the points, spread over its shapes.
const OpSurfaces::Lazy& OpSurfaces::general() const {
  std::call_once(general_once_, [&] {
    general_ = std::make_unique<Lazy>();
    const std::size_t share = std::max<std::size_t>(12, kMostGeneralPoints / families_.size());
    for (const auto& [geometry, family] : families_) {
      const auto points = thinned(family->points, share);
      general_->points.insert(general_->points.end(), points.begin(), points.end());
    }
  });
  return *general_;
}

OpSurfaces::Answer OpSurfaces::at(const OpCall& call) const {
  const OpPoint point = op_point(call, device_, floor_s_);
  const auto family = families_.find(geometry_of(call));
  const bool own = family != families_.end();
  const ScatterSurface& surface =
      own ? solved(*family->second, kMostFamilyPoints) : solved(general(), 2 * kMostGeneralPoints);
  const ScatterSurface::Answer answer = surface.at(point.features.data(), point.reference_s);
  return {answer.value, answer.source, own, answer.nearest};
}

}  // namespace plateau
