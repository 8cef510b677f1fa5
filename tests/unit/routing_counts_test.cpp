// Expert-load recordings: what is read, and what is refused with its place.
#include "calibration/routing_counts.h"

#include <doctest/doctest.h>

using namespace plateau;

namespace {

RoutingCounts counts_of(const std::string& text, const std::string& trace = "") {
  return routing_counts_of(CsvTable::parse(text, "loads.csv"), trace);
}

std::string refusal(const std::string& text, const std::string& trace = "") {
  try {
    counts_of(text, trace);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("expert counts are read by trace and sorted by layer") {
  const std::string text =
      "trace,layer,e0,e1,e2\n"
      "decode,4,7,8,9\n"
      "decode,3,1,0,3\n"
      "prefill,3,5,5,5\n";
  const RoutingCounts decode = counts_of(text, "decode");
  CHECK(decode.trace == "decode");
  CHECK(decode.layers == std::vector<int>{3, 4});
  CHECK(decode.counts == std::vector<std::vector<double>>{{1, 0, 3}, {7, 8, 9}});
}

TEST_CASE("the only trace of a file need not be named, nor exist") {
  CHECK(counts_of("trace,layer,e0\nrun,0,2\n").trace == "run");
  CHECK(counts_of("layer,e0,e1\n0,2,3\n").counts.at(0) == std::vector<double>{2, 3});
}

TEST_CASE("a wrong trace is refused with a hint") {
  const std::string text = "trace,layer,e0\ndecode,0,1\nprefill,0,1\n";
  CHECK(mentions(refusal(text), "holds several traces"));
  CHECK(mentions(refusal(text), "decode, prefill"));
  CHECK(mentions(refusal(text, "decod"), "did you mean decode?"));
  CHECK(mentions(refusal("layer,e0\n0,1\n", "decode"), "no column trace"));
}

TEST_CASE("wrong counts are refused together with their places") {
  const std::string text = refusal("layer,e0,e1\n0,1,-2\n0,x,3\n1.5,1,\n");
  CHECK(mentions(text, "loads.csv:2"));
  CHECK(mentions(text, "loads.csv:3"));
  CHECK(mentions(text, "given before"));
  CHECK(mentions(text, "loads.csv:4"));
  CHECK(mentions(refusal("layer\n0\n"), "e0"));
  CHECK(mentions(refusal("layer,e0\n"), "holds no layer"));
}
