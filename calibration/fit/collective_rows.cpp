#include "calibration/fit/collective_rows.h"

#include <map>
#include <utility>
#include <vector>

#include "calibration/csv.h"

namespace plateau {
namespace {

constexpr double kBytesPerElement = 2;
constexpr double kMilli = 1e-3;

class CurveReader {
 public:
  CurveReader(const std::string& path, const std::string& file)
      : table_(CsvTable::read(path)),
        ranks_(table_.column("num_gpus")),
        size_(table_.column("message_size")),
        latency_(table_.column("latency")) {
    use_.file = file;
    use_.rows = static_cast<std::int64_t>(table_.rows());
  }

  const CsvTable& table() const { return table_; }
  double bytes(std::size_t row) const { return kBytesPerElement * table_.number(row, size_); }
  void ignore(const std::string& reason) { ++use_.ignored[reason]; }

  void keep(std::size_t row, Op op) {
    const double latency = table_.number(row, latency_);
    if (latency <= 0) return ignore("latency 0");
    const std::pair key(op, static_cast<int>(table_.number(row, ranks_)));
    if (!points_[key].emplace(bytes(row), latency * kMilli).second) {
      return ignore("key seen before: the first row counts");
    }
    ++use_.used;
  }

  TableUse take(CollectivePath way, CollectiveCurves& curves) {
    for (const auto& [key, points] : points_) {
      std::vector<CurvePoint> curve;
      for (const auto& [bytes, seconds] : points) curve.push_back({bytes, seconds});
      if (!curve.empty()) curves.add(key.first, way, key.second, std::move(curve));
    }
    return std::move(use_);
  }

 private:
  CsvTable table_;
  std::size_t ranks_;
  std::size_t size_;
  std::size_t latency_;
  TableUse use_;
  std::map<std::pair<Op, int>, std::map<double, double>> points_;
};

}  // namespace

TableUse read_nccl(const std::string& path, const std::string& file, CollectiveCurves& curves) {
  CurveReader reader(path, file);
  const CsvTable& table = reader.table();
  const std::size_t name = table.column("op_name");
  const std::size_t dtype = table.column("nccl_dtype");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool reduce = table.text(row, name) == "all_reduce";
    const bool gather = table.text(row, name) == "all_gather";
    if (table.text(row, dtype) != "half" || (!reduce && !gather)) {
      reader.ignore("another operation or type");
    } else {
      reader.keep(row, reduce ? Op::all_reduce : Op::all_gather);
    }
  }
  return reader.take(CollectivePath::nccl, curves);
}

TableUse read_custom_all_reduce(const std::string& path, const std::string& file,
                                CollectiveCurves& curves) {
  CurveReader reader(path, file);
  const CsvTable& table = reader.table();
  const std::size_t backend = table.column("backend");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, backend) != "sglang_graph") {
      reader.ignore("launched without a graph");
    } else if (reader.bytes(row) > CollectiveCurves::kCustomLimit) {
      reader.ignore("beyond 8 MiB: NCCL's curve is there already");
    } else {
      reader.keep(row, Op::all_reduce);
    }
  }
  return reader.take(CollectivePath::custom, curves);
}

}  // namespace plateau
