#include "calibration/input_error.h"

#include <doctest/doctest.h>

using namespace plateau;

TEST_CASE("input error: a problem reads file:line:column: key: message (hint)") {
  CHECK(to_string(Problem{"s.yaml", 3, 7, "workload.concurrency", "is negative", "give a count"}) ==
        "s.yaml:3:7: workload.concurrency: is negative (give a count)");
  CHECK(to_string(Problem{"s.yaml", 3, 0, "", "is negative", ""}) == "s.yaml:3: is negative");
  CHECK(to_string(Problem{"s.yaml", 0, 7, "", "is empty", ""}) == "s.yaml: is empty");
  CHECK(to_string(Problem{"", 0, 0, "--seed", "not a count", ""}) == "--seed: not a count");
}

TEST_CASE("input error: all problems are shown together") {
  const InputError error({Problem{"a", 1, 0, "", "x", ""}, Problem{"a", 2, 0, "", "y", ""}});
  CHECK(std::string(error.what()) == "a:1: x\na:2: y");
  CHECK(error.problems().size() == 2);
}

TEST_CASE("input error: closest finds misspellings and nothing far off") {
  const std::vector<std::string> keys = {"concurrency", "requests", "request_rate", "input_length"};
  CHECK(closest("concurency", keys) == "concurrency");
  CHECK(closest("conucrrency", keys) == "concurrency");
  CHECK(closest("Request-Rate", keys) == "request_rate");
  CHECK(closest("reqeusts", keys) == "requests");
  CHECK(closest("banana", keys).empty());
  CHECK(closest("", keys).empty());
  CHECK(closest("x", {}).empty());
  CHECK(closest(std::string(1'000'000, 'a'), keys).empty());
}
