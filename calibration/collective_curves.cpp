#include "calibration/collective_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/csv.h"
#include "calibration/whole.h"

namespace plateau {

const char* name_of(CollectivePath path) {
  return path == CollectivePath::nccl ? "nccl" : "custom";
}

void CollectiveCurves::add(Op op, CollectivePath path, int ranks, std::vector<CurvePoint> points) {
  if (points.empty()) throw std::invalid_argument("a curve without points");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].bytes <= 0 || points[i].seconds <= 0) {
      throw std::invalid_argument("a point that is not positive");
    }
    if (i > 0 && points[i - 1].bytes >= points[i].bytes) {
      throw std::invalid_argument("points do not ascend by bytes");
    }
  }
  curves_[{op, path, ranks}] = std::move(points);
}

bool CollectiveCurves::has(Op op, CollectivePath path, int ranks) const {
  return curves_.count({op, path, ranks}) > 0;
}

Estimate CollectiveCurves::seconds(Op op, CollectivePath path, int ranks, double bytes,
                                   double band) const {
  const auto found = curves_.find({op, path, ranks});
  if (found == curves_.end()) {
    throw std::invalid_argument(
        fmt::format("no {} curve of {} over {} GPUs", name_of(path), name_of(op), ranks));
  }
  const std::vector<CurvePoint>& points = found->second;
  const auto next =
      std::lower_bound(points.begin(), points.end(), bytes,
                       [](const CurvePoint& point, double x) { return point.bytes < x; });
  if (next != points.end() && next->bytes == bytes) {
    return Estimate::within(next->seconds, band, Source::measured);
  }
  const double beyond_band = std::max(2 * band, 0.25);
  if (next == points.begin()) {
    return Estimate::within(points.front().seconds, beyond_band, Source::extrapolated);
  }
  if (next == points.end()) {
    const double time = points.back().seconds * bytes / points.back().bytes;
    return Estimate::within(time, beyond_band, Source::extrapolated);
  }
  const CurvePoint& before = *(next - 1);
  const double share = std::log(bytes / before.bytes) / std::log(next->bytes / before.bytes);
  const double time = before.seconds * std::pow(next->seconds / before.seconds, share);
  return Estimate::within(time, band, Source::interpolated);
}

std::string CollectiveCurves::write() const {
  std::string text = "op,path,ranks,bytes,us\n";
  for (const auto& [key, points] : curves_) {
    for (const CurvePoint& point : points) {
      text += fmt::format("{},{},{},{:.0f},{:.6g}\n", name_of(std::get<0>(key)),
                          name_of(std::get<1>(key)), std::get<2>(key), point.bytes,
                          point.seconds * 1e6);
    }
  }
  return text;
}

CollectiveCurves CollectiveCurves::read(const std::string& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t op_column = table.column("op");
  const std::size_t path_column = table.column("path");
  const std::size_t ranks_column = table.column("ranks");
  const std::size_t bytes_column = table.column("bytes");
  const std::size_t us_column = table.column("us");
  CollectiveCurves curves;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view op_name = table.text(row, op_column);
    const Op op = op_name == "all_gather" ? Op::all_gather : Op::all_reduce;
    if (op_name != name_of(op)) {
      throw InputError(table.problem(row, op_column, "is neither all_reduce nor all_gather"));
    }
    const std::string_view path_name = table.text(row, path_column);
    const auto way = path_name == "custom" ? CollectivePath::custom : CollectivePath::nccl;
    if (path_name != name_of(way)) {
      throw InputError(table.problem(row, path_column, "is neither nccl nor custom"));
    }
    const double bytes = table.number(row, bytes_column);
    const double us = table.number(row, us_column);
    if (us <= 0) throw InputError(table.problem(row, us_column, "is not positive"));
    std::vector<CurvePoint>& points =
        curves.curves_[{op, way, whole<int>(table.number(row, ranks_column))}];
    if (bytes <= 0 || (!points.empty() && points.back().bytes >= bytes)) {
      throw InputError(table.problem(row, bytes_column, "does not ascend from 0 within its curve"));
    }
    points.push_back({bytes, us * 1e-6});
  }
  return curves;
}

}  // namespace plateau
