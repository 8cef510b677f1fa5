// What holds for every space of points.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "sim/sweep/point_space.h"
#include "sim/sweep/sweep.h"

using plateau::PointSpace;
using plateau::SpaceRequest;

namespace {

std::vector<std::string> keys_of(const std::vector<int>& sizes) {
  std::vector<std::string> vary;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::string text = "key" + std::to_string(k) + "=";
    for (int i = 0; i < sizes[k]; ++i) text += (i > 0 ? "," : "") + std::to_string(100 + i);
    vary.push_back(text);
  }
  return vary;
}

std::vector<int> any_sizes() {
  const auto keys = *rc::gen::inRange<std::size_t>(1, 5);
  return *rc::gen::container<std::vector<int>>(keys, rc::gen::inRange(1, 7));
}

}  // namespace

TEST_CASE("property: a grid holds every combination once, in the order of its indices") {
  CHECK(rc::check([] {
    SpaceRequest request;
    request.vary = keys_of(any_sizes());
    const PointSpace space(request);
    std::vector<std::int32_t> before;
    for (std::int64_t i = 0; i < space.size(); ++i) {
      const auto indices = space.indices(i);
      RC_ASSERT(before.empty() || before < indices);
      for (std::size_t k = 0; k < indices.size(); ++k) {
        RC_ASSERT(indices[k] >= 0);
        RC_ASSERT(indices[k] < std::ssize(space.keys()[k].values));
      }
      before = indices;
    }
  }));
}

TEST_CASE("property: samples lie in the grid; random ones differ, hypercubes fill each key") {
  CHECK(rc::check([] {
    const std::vector<int> sizes = any_sizes();
    SpaceRequest request;
    request.vary = keys_of(sizes);
    request.seed = *rc::gen::arbitrary<std::uint64_t>();
    request.samples = *rc::gen::inRange(1, 60);
    request.way = SpaceRequest::Way::random;
    const PointSpace random(request);
    std::set<std::vector<std::int32_t>> seen;
    for (std::int64_t i = 0; i < random.size(); ++i) seen.insert(random.indices(i));
    RC_ASSERT(std::ssize(seen) == random.size());
    request.way = SpaceRequest::Way::latin_hypercube;
    const PointSpace latin(request);
    RC_ASSERT(latin.size() == request.samples);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      std::vector<int> met(static_cast<std::size_t>(sizes[k]), 0);
      for (std::int64_t i = 0; i < latin.size(); ++i)
        ++met[static_cast<std::size_t>(latin.indices(i)[k])];
      for (const int times : met) {  // each value as often as its share of the strata
        const double fair = static_cast<double>(request.samples) / sizes[k];
        RC_ASSERT(times > fair - 2);
        RC_ASSERT(times < fair + 2);
      }
    }
  }));
}

TEST_CASE("property: a line of a row reads back") {
  CHECK(rc::check([] {
    plateau::SweepRow row;
    row.ok = *rc::gen::arbitrary<bool>();
    row.reason = *rc::gen::string<std::string>();
    row.cells = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange<char>('!', '~')));
    const std::string line = plateau::line_of(row);
    RC_ASSERT(line.find('\n') == std::string::npos);
    const plateau::SweepRow read = plateau::row_of(line);
    RC_ASSERT(read.ok == row.ok);
    RC_ASSERT(read.cells == row.cells);
    RC_ASSERT(plateau::line_of(read) == line);
  }));
}
