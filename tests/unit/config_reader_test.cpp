#include "calibration/config_reader.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using plateau::ConfigReader;
using plateau::Dimension;
using plateau::InputError;

namespace {

ConfigReader reader_of(const std::string& text) {
  return ConfigReader(plateau::parse_yaml(text, "a.yaml"));
}

// All problems that reading `text` finds, one a line.
std::string problems_of(const std::string& text, const std::function<void(ConfigReader&)>& read) {
  ConfigReader reader = reader_of(text);
  try {
    read(reader);
    reader.finish();
  } catch (const InputError& error) {
    return std::string(error.what()) + "\n";
  }
  return "";
}

enum class Colour { red, blue };

}  // namespace

TEST_CASE("a reader gives typed values") {
  ConfigReader reader = reader_of(
      "name: glm\nlayers: 78\nbig: 1000000000000\nshare: 0.92\non: true\nsizes: [1, 2]\n"
      "limit: 600 W\npool: 495488\nlength: 128 tokens\ncolour: blue\nnothing: ~\n");
  CHECK(reader.required<std::string>("name") == "glm");
  CHECK(reader.required<int>("layers", {1, 100}) == 78);
  CHECK(reader.required<std::int64_t>("big") == 1000000000000);
  CHECK(reader.optional<double>("share") == 0.92);
  CHECK(reader.optional<bool>("on") == true);
  CHECK(*reader.list<int>("sizes") == std::vector<int>{1, 2});
  CHECK(reader.quantity("limit", Dimension::power, {1, 1000}) == 600);
  CHECK(reader.tokens("pool", {1, 1000000}, ConfigReader::TokenUnit::optional) == 495488);
  CHECK(reader.tokens("length", {1, 1000}, ConfigReader::TokenUnit::required) == 128);
  CHECK(reader.one_of<Colour>("colour", {{"red", Colour::red}, {"blue", Colour::blue}}) ==
        Colour::blue);
  CHECK_FALSE(reader.optional<int>("nothing"));
  CHECK_FALSE(reader.has("nothing"));
  CHECK_FALSE(reader.optional<int>("absent"));
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("unknown keys are named with their place and the nearest known key") {
  const auto read = [](ConfigReader& reader) {
    reader.optional<std::string>("model");
    ConfigReader workload = reader.section("workload");
    workload.optional<int>("concurrency");
    workload.optional<int>("requests");
  };
  CHECK(problems_of("modle: x\nworkload:\n  concurency: 3\n  zzz: 1\n", read) ==
        "a.yaml:1:1: modle: unknown key (did you mean `model`?)\n"
        "a.yaml:3:3: workload.concurency: unknown key (did you mean `concurrency`?)\n"
        "a.yaml:4:3: workload.zzz: unknown key (one of: concurrency, requests)\n");
}

TEST_CASE("all problems of a document are told together in reading order") {
  const auto read = [](ConfigReader& reader) {
    reader.required<int>("z");
    reader.required<int>("b", {1, 10});
    reader.optional<bool>("a");
  };
  CHECK(problems_of("a: yes\nb: 11\n", read) ==
        "a.yaml:1:1: z: is missing\n"
        "a.yaml:1:4: a: `yes` is neither true nor false (write true or false)\n"
        "a.yaml:2:4: b: `11` is outside the range 1 to 10\n");
}

TEST_CASE("values of the wrong type say what is due") {
  const auto count = [](ConfigReader& reader) { reader.optional<int>("n", {0, 1000}); };
  CHECK(problems_of("n: abc\n", count) == "a.yaml:1:4: n: `abc` is not a whole number\n");
  CHECK(problems_of("n: 64 clients\n", count) ==
        "a.yaml:1:4: n: `64 clients` is not a whole number (a count takes no unit)\n");
  CHECK(problems_of("n: 1e2\n", count) ==
        "a.yaml:1:4: n: `1e2` is not written as a whole number (write 100)\n");
  CHECK(problems_of("n: 010\n", count) ==
        "a.yaml:1:4: n: `010` is not written as a whole number (write 10)\n");
  CHECK(problems_of("n: 2.5\n", count) == "a.yaml:1:4: n: `2.5` is not a whole number\n");
  CHECK(problems_of("n: '5'\n", count) ==
        "a.yaml:1:4: n: `5` is text in quotes where a number or true/false is due (remove the "
        "quotes)\n");
  CHECK(problems_of("n: [1]\n", count) == "a.yaml:1:4: n: is a list where a single value is due\n");
  CHECK(problems_of("n: 1000000000000000000000\n", count) ==
        "a.yaml:1:4: n: `1000000000000000000000` is outside the range 0 to 1000\n");
  CHECK(problems_of("n: -1\n", count) == "a.yaml:1:4: n: `-1` is outside the range 0 to 1000\n");
  const auto number = [](ConfigReader& reader) { reader.optional<double>("x", {0, 1}); };
  CHECK(problems_of("x: 1.5\n", number) == "a.yaml:1:4: x: `1.5` is outside the range 0 to 1\n");
  CHECK(problems_of("x: .nan\n", number) == "a.yaml:1:4: x: `.nan` is not a number\n");
  const auto list = [](ConfigReader& reader) { reader.list<int>("l", {1, 9}); };
  CHECK(problems_of("l: 3\n", list) ==
        "a.yaml:1:4: l: is a single value where a list is due (write [a, b, c])\n");
  CHECK(problems_of("l: [1, 20]\n", list) ==
        "a.yaml:1:8: l[1]: `20` is outside the range 1 to 9\n");
  const auto section = [](ConfigReader& reader) { reader.section("s"); };
  CHECK(
      problems_of("s: 3\n", section) ==
      "a.yaml:1:4: s: is a single value where a map is due (write `key: value` lines, indented)\n");
  const auto colour = [](ConfigReader& reader) {
    reader.one_of<Colour>("c", {{"red", Colour::red}, {"blue", Colour::blue}});
  };
  CHECK(problems_of("c: bleu\n", colour) ==
        "a.yaml:1:4: c: `bleu` is not one of red, blue (did you mean `blue`?)\n");
}

TEST_CASE("quantities are checked where they stand") {
  const auto power = [](ConfigReader& reader) {
    reader.quantity("p", Dimension::power, {1, 10000});
  };
  CHECK(problems_of("p: 600\n", power) ==
        "a.yaml:1:4: p: `600` has no unit (write `600 W`; units: W, kW)\n");
  CHECK(problems_of("p: 90 kW\n", power) ==
        "a.yaml:1:4: p: `90 kW` is outside the range 1 W to 10000 W\n");
  const auto tokens = [](ConfigReader& reader) {
    reader.tokens("t", {1, 1000}, ConfigReader::TokenUnit::required);
  };
  CHECK(problems_of("t: 128\n", tokens) ==
        "a.yaml:1:4: t: `128` has no unit (write `128 tokens`; units: tokens)\n");
  CHECK(problems_of("t: 1.5 tokens\n", tokens) ==
        "a.yaml:1:4: t: `1.5 tokens` is not a whole number of tokens\n");
}

TEST_CASE("a required key of an absent section is missing where the section would stand") {
  const auto read = [](ConfigReader& reader) {
    reader.section("hardware").required<std::string>("device");
  };
  CHECK(problems_of("hardware:\n", read) == "a.yaml:1:1: hardware.device: is missing\n");
}

TEST_CASE("a list of maps has one reader each") {
  ConfigReader reader = reader_of("tables:\n- {name: a}\n- {name: b, extra: 1}\n");
  std::string names;
  for (ConfigReader& table : [&] { return reader.sections("tables"); }())
    names += table.required<std::string>("name");
  CHECK(names == "ab");
  CHECK_THROWS_WITH(reader.finish(), "a.yaml:3:13: tables[1].extra: unknown key (one of: name)");
}
