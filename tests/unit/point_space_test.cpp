// Points of a sweep: their number, order and values, for every way of choosing them.
#include "sim/sweep/point_space.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "calibration/input_error.h"
#include "tests/support/scenario_text.h"

using plateau::InputError;
using plateau::PointSpace;
using plateau::SpaceRequest;
using Way = plateau::SpaceRequest::Way;

namespace {

SpaceRequest request(Way way, std::vector<std::string> vary, std::int64_t samples = 0) {
  SpaceRequest result;
  result.way = way;
  result.vary = std::move(vary);
  result.samples = samples;
  return result;
}

std::string refusal(const SpaceRequest& asked) {
  try {
    PointSpace space(asked);
  } catch (const InputError& error) {
    return plateau::to_string(error.problems().front());
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a grid varies its last key fastest") {
  const PointSpace space(request(Way::grid, {"a=1,2", "b=x,y,z"}));
  REQUIRE(space.size() == 6);
  CHECK(space.values(0) == std::vector<std::string>{"1", "x"});
  CHECK(space.values(1) == std::vector<std::string>{"1", "y"});
  CHECK(space.values(3) == std::vector<std::string>{"2", "x"});
  CHECK(space.values(5) == std::vector<std::string>{"2", "z"});
}

TEST_CASE("zip pairs values and refuses keys of different lengths") {
  const PointSpace space(request(Way::zip, {"a=1..3:3", "b=x,y,z"}));
  REQUIRE(space.size() == 3);
  CHECK(space.values(1) == std::vector<std::string>{"2", "y"});
  CHECK(contains(refusal(request(Way::zip, {"a=1,2", "b=x,y,z"})), "this key has 3 and a has 2"));
  const PointSpace repeated(request(Way::zip, {"a=1,1,2,2", "b=x,y,x,y"}));
  REQUIRE(repeated.size() == 4);
  CHECK(repeated.values(1) == std::vector<std::string>{"1", "y"});
}

TEST_CASE("a list of points is a CSV file whose header names the keys") {
  const plateau::test::TemporaryFolder folder;
  SpaceRequest asked = request(Way::list, {});
  asked.points_file = folder.write("points.csv", "a,b\n1,400 W\n2,500 W\n1,400 W\n");
  const PointSpace space(asked);
  REQUIRE(space.size() == 3);
  CHECK(space.keys()[1].key == "b");
  CHECK(space.values(1) == std::vector<std::string>{"2", "500 W"});
  CHECK(space.values(2) == space.values(0));
  asked.points_file = folder.write("gap.csv", "a,b\n1,\n");
  CHECK(contains(refusal(asked), "gap.csv:2"));
  asked.points_file = folder.write("empty.csv", "a,b\n");
  CHECK(contains(refusal(asked), "holds no point"));
  asked.vary = {"a=1"};
  CHECK(contains(refusal(asked), "--vary cannot add to them"));
}

TEST_CASE("a random sample takes different points, the same ones for the same seed") {
  SpaceRequest asked = request(Way::random, {"a=1..100:100", "b=1..100:100"}, 500);
  const PointSpace space(asked);
  REQUIRE(space.size() == 500);
  std::set<std::vector<std::string>> seen;
  for (std::int64_t i = 0; i < space.size(); ++i) seen.insert(space.values(i));
  CHECK(seen.size() == 500);
  const PointSpace again(asked);
  CHECK(again.values(77) == space.values(77));
  asked.seed = 2;
  CHECK(PointSpace(asked).values(0) != space.values(0));
  const PointSpace all(request(Way::random, {"a=1,2", "b=1,2"}, 5));
  CHECK(all.size() == 4);
}

TEST_CASE("a Latin hypercube meets every stratum of every key once") {
  const PointSpace space(request(Way::latin_hypercube, {"a=1..50:50", "b=0.0..1.0:500"}, 50));
  REQUIRE(space.size() == 50);
  std::set<std::int32_t> first;
  std::set<std::int32_t> second;
  for (std::int64_t i = 0; i < 50; ++i) {
    first.insert(space.indices(i)[0]);
    second.insert(space.indices(i)[1] / 10);
  }
  CHECK(first.size() == 50);
  CHECK(second.size() == 50);
}

TEST_CASE("a sample may leave out the steps of a range") {
  const PointSpace space(request(Way::latin_hypercube, {"a=0.0..1.0"}, 1000));
  std::set<std::int32_t> strata;
  for (std::int64_t i = 0; i < 1000; ++i) strata.insert(space.indices(i)[0] / 10);
  CHECK(strata.size() == 1000);
  CHECK(contains(refusal(request(Way::grid, {"a=0.0..1.0"})), "says no number of steps"));
}

TEST_CASE("a grid of a thousand million points is counted, not run") {
  const std::vector<std::string> vary = {"a=1..1000:1000", "b=1..1000:1000", "c=1..1000:1000"};
  const std::string words = refusal(request(Way::grid, vary));
  CHECK(contains(words, "a grid of 1,000,000,000 points"));
  CHECK(contains(words, "--random 10000"));
  CHECK(PointSpace(request(Way::random, vary, 10)).size() == 10);
  CHECK(contains(refusal(request(Way::random, vary, 0)), "a sample of 1 to 1,000,000 points"));
}

TEST_CASE("no key, and a key varied twice, are refused") {
  CHECK(contains(refusal(request(Way::grid, {})), "nothing varies"));
  CHECK(contains(refusal(request(Way::grid, {"a=1", "a=2"})), "is varied twice"));
}
