#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "calibration/config_node.h"
#include "calibration/csv.h"
#include "calibration/units.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/ranges.h"

using plateau::ConfigNode;
using plateau::Dimension;
using Kind = plateau::ConfigNode::Kind;

namespace {

const std::vector<Dimension> kDimensions = {
    Dimension::tokens,  Dimension::time,      Dimension::memory,
    Dimension::power,   Dimension::frequency, Dimension::bandwidth,
    Dimension::compute, Dimension::rate,      Dimension::energy};

// Printable ASCII, with the characters that need escaping in JSON.
rc::Gen<std::string> words() {
  return rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
}

std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

// A random JSON document of at most `depth` levels; keys of one map differ.
std::string json_document(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  if (kind == 0) return std::to_string(*rc::gen::arbitrary<int>());
  if (kind == 1) return *rc::gen::element<std::string>("true", "false", "null", "1.50", "-2e3");
  if (kind <= 3) return json_string(*words());
  const int size = *rc::gen::inRange(0, 4);
  std::string text;
  for (int i = 0; i < size; ++i) {
    if (i > 0) text += ", ";
    if (kind == 5) text += json_string(std::to_string(i) + *words()) + ": ";
    text += json_document(depth - 1);
  }
  return kind == 5 ? "{" + text + "}" : "[" + text + "]";
}

bool same(const ConfigNode& a, const ConfigNode& b) {
  return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted && a.keys == b.keys &&
         a.children.size() == b.children.size() &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), same);
}

}  // namespace

TEST_CASE("property: a formatted quantity reads back as the same double in every dimension") {
  CHECK(rc::check([] {
    const Dimension dimension = *rc::gen::elementOf(kDimensions);
    const double value = *rc::gen::arbitrary<double>();
    RC_PRE(std::isfinite(value));
    const plateau::Quantity quantity = parse_quantity(format_quantity(value, dimension), dimension);
    RC_ASSERT(quantity.error == "");
    RC_ASSERT(quantity.value == value);
  }));
}

TEST_CASE("property: units of one dimension agree, and those of another are refused") {
  CHECK(rc::check([] {
    const std::string text = std::to_string(*rc::gen::inRange(1, 1'000'000));
    RC_ASSERT(parse_quantity(text + " ms", Dimension::time).value ==
              parse_quantity(text + "000 us", Dimension::time).value);
    RC_ASSERT(parse_quantity(text + " GB", Dimension::memory).value ==
              parse_quantity(text + "000 MB", Dimension::memory).value);
    RC_ASSERT(parse_quantity(text + " GiB", Dimension::memory).value >
              parse_quantity(text + " GB", Dimension::memory).value);
    const Dimension other = *rc::gen::elementOf(kDimensions);
    RC_ASSERT((parse_quantity(text + " ms", other).error == "") == (other == Dimension::time));
  }));
}

TEST_CASE("property: parsing a quantity of any text never throws") {
  CHECK(rc::check([](const std::string& text) {
    for (const Dimension dimension : kDimensions) {
      const plateau::Quantity quantity = parse_quantity(text, dimension);
      RC_ASSERT(quantity.error != "" || std::isfinite(quantity.value));
    }
  }));
}

TEST_CASE("property: a JSON document reads the same as JSON and as YAML") {
  CHECK(rc::check([] {
    const std::string text = json_document(4);
    const ConfigNode json = plateau::parse_json(text, "a");
    const ConfigNode yaml = plateau::parse_yaml(text, "a");
    RC_ASSERT(same(json, yaml));
    RC_ASSERT(json.line == 1 && json.column == 1);
  }));
}

TEST_CASE("property: a range has both ends, at most its steps, and goes one way") {
  CHECK(rc::check([] {
    const int low = *rc::gen::inRange(-1000, 1000);
    const int high = low + *rc::gen::inRange(1, 5000);
    const int steps = *rc::gen::inRange(2, 200);
    const bool fraction = *rc::gen::arbitrary<bool>();
    const std::string dot = fraction ? ".0" : "";
    const auto values = plateau::parse_values(
        std::to_string(low) + dot + ".." + std::to_string(high) + dot + ":" + std::to_string(steps),
        "k");
    RC_ASSERT(values.size() <= static_cast<std::size_t>(steps));
    RC_ASSERT(!fraction || values.size() == static_cast<std::size_t>(steps));
    RC_ASSERT(*plateau::parse_number(values.front()) == low);
    RC_ASSERT(*plateau::parse_number(values.back()) == high);
    for (std::size_t i = 1; i < values.size(); ++i) {
      RC_ASSERT(*plateau::parse_number(values[i - 1]) < *plateau::parse_number(values[i]));
    }
  }));
}

TEST_CASE("property: merging a tree with itself, or onto nothing, changes nothing") {
  CHECK(rc::check([] {
    const ConfigNode tree = plateau::parse_json("{\"a\": " + json_document(3) + "}", "a");
    RC_ASSERT(same(plateau::merged(tree, tree), tree));
    RC_ASSERT(same(plateau::merged(ConfigNode{}, tree), tree));
  }));
}
