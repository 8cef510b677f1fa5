// Measured times of collectives over tensor size, one curve for each (operation, path, ranks).
//
// Between two points time is linear in log-log; a point itself is `measured`. Curves need not rise:
// an 8-GPU all-reduce over PCIe takes 156 us for 512 KiB and 132 us for 1 MiB, where NCCL changes
// protocol, so no law is fitted. Below the first point its latency is held, above the last its
// bandwidth; both are extrapolated.
//
// Paths: `nccl`, and `custom`, the engine's own one-shot or two-shot all-reduce. An engine of
// SGLang's kind takes the custom one up to 8 MiB, for more than two ranks only where all GPUs see
// each other over NVLink (serving engine's all-reduce order).
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/op.h"

namespace plateau {

struct CurvePoint {
  double bytes = 0;
  double seconds = 0;
};

enum class CollectivePath : std::uint8_t { nccl, custom };

const char* name_of(CollectivePath path);

class CollectiveCurves {
 public:
  static constexpr double kCustomLimit = 8.0 * 1024 * 1024;  // bytes

  // Points ascend by bytes; throws std::invalid_argument otherwise or when there are none.
  void add(Op op, CollectivePath path, int ranks, std::vector<CurvePoint> points);

  bool has(Op op, CollectivePath path, int ranks) const;
  // One curve. `band` is relative. Throws std::invalid_argument when it is not there.
  Estimate seconds(Op op, CollectivePath path, int ranks, double bytes, double band) const;

  std::string write() const;  // curves.csv: op,path,ranks,bytes,us
  static CollectiveCurves read(const std::string& path);

 private:
  using Key = std::tuple<Op, CollectivePath, int>;
  std::map<Key, std::vector<CurvePoint>> curves_;
};

}  // namespace plateau
