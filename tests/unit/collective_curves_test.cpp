#include "calibration/collective_curves.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "calibration/csv.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

// The dip at a protocol switch, as on 8 GPUs over PCIe.
CollectiveCurves dipping() {
  CollectiveCurves curves;
  curves.add(Op::all_reduce, CollectivePath::nccl, 8,
             {{1024, 24e-6}, {524288, 156.1e-6}, {1048576, 131.5e-6}, {2097152, 221e-6}});
  return curves;
}

Estimate at(const CollectiveCurves& curves, double bytes) {
  return curves.seconds(Op::all_reduce, CollectivePath::nccl, 8, bytes, 0.05);
}

std::string complaint(const std::string& text) {
  const std::string path = toy::folder("curves") + "/curves.csv";
  write_file(path, text);
  try {
    CollectiveCurves::read(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("collective curves: a measured point comes back as it is, dips included") {
  const CollectiveCurves curves = dipping();
  CHECK(at(curves, 524288).value == 156.1e-6);
  CHECK(at(curves, 1048576).value == 131.5e-6);
  CHECK(at(curves, 1048576).source == Source::measured);
  CHECK(at(curves, 1048576).low == doctest::Approx(131.5e-6 * 0.95));
}

TEST_CASE("collective curves: log-log between points") {
  const Estimate middle = at(dipping(), std::sqrt(524288.0 * 1048576.0));
  CHECK(middle.value == doctest::Approx(std::sqrt(156.1e-6 * 131.5e-6)));
  CHECK(middle.source == Source::interpolated);
}

TEST_CASE("collective curves: latency is held below the first point, bandwidth above the last") {
  const CollectiveCurves curves = dipping();
  CHECK(at(curves, 1024).source == Source::measured);
  CHECK(at(curves, 1023).source == Source::extrapolated);
  CHECK(at(curves, 1).value == 24e-6);
  CHECK(at(curves, 2097153).source == Source::extrapolated);
  CHECK(at(curves, 4194304).value == doctest::Approx(442e-6));
  CHECK(at(curves, 4194304).high > 442e-6 * 1.2);
}

TEST_CASE("collective curves: ranks and paths that were not measured are refused") {
  const CollectiveCurves curves = dipping();
  CHECK_THROWS_AS(curves.seconds(Op::all_reduce, CollectivePath::nccl, 6, 1024, 0),
                  std::invalid_argument);
  CHECK_THROWS_AS(curves.seconds(Op::all_reduce, CollectivePath::custom, 8, 1024, 0),
                  std::invalid_argument);
  CollectiveCurves more;
  CHECK_THROWS_AS(more.add(Op::all_reduce, CollectivePath::nccl, 2, {}), std::invalid_argument);
  CHECK_THROWS_AS(more.add(Op::all_reduce, CollectivePath::nccl, 2, {{8, 1e-6}, {8, 2e-6}}),
                  std::invalid_argument);
  CHECK_THROWS_AS(more.add(Op::all_reduce, CollectivePath::nccl, 2, {{8, 0}}),
                  std::invalid_argument);
}

TEST_CASE("collective curves: written and read back") {
  const std::string path = toy::folder("curves") + "/curves.csv";
  write_file(path, dipping().write());
  const CollectiveCurves curves = CollectiveCurves::read(path);
  CHECK(at(curves, 524288).value == doctest::Approx(156.1e-6).epsilon(1e-12));
  CHECK(curves.write() == dipping().write());
}

TEST_CASE("collective curves: a bad file is refused with its place") {
  const std::string head = "op,path,ranks,bytes,us\n";
  CHECK(complaint("op,path,ranks,bytes\n").find("us: missing column") != std::string::npos);
  CHECK(complaint(head + "all_reduce,nccl,8,1024,fast\n").find(":2:24: us: not a number") !=
        std::string::npos);
  CHECK(complaint(head + "all_reduce,nccl,8,1024,0\n").find("not positive") != std::string::npos);
  CHECK(complaint(head + "all_reduce,nccl,8,2,1\nall_reduce,nccl,8,1,1\n").find("ascend") !=
        std::string::npos);
  CHECK(complaint(head + "broadcast,nccl,8,2,1\n").find("neither") != std::string::npos);
  CHECK(complaint(head + "all_reduce,mpi,8,2,1\n").find("neither") != std::string::npos);
}
