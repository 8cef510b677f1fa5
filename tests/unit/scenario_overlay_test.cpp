#include <doctest/doctest.h>

#include <string>

#include "sim/scenario/overlay.h"
#include "sim/scenario/ranges.h"
#include "tests/support/scenario_text.h"

using plateau::first_comment;
using plateau::InputError;
using plateau::parse_values;
using plateau::parse_variation;
using plateau::read_with_bases;
using plateau::test::TemporaryFolder;
using Values = std::vector<std::string>;

namespace {

std::string problem_of(const std::string& text) {
  try {
    parse_values(text, "k");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("base inherits key by key and keeps each value's own place") {
  const TemporaryFolder folder;
  folder.write("common/base.yaml", "a: {x: 1, y: 2}\nlist: [1, 2]\ngone: 1\nmeasured: {v: 1}\n");
  const std::string path =
      folder.write("s.yaml", "base: common/base.yaml\na: {y: 3, z: 4}\nlist: [9]\ngone: ~\n");
  const plateau::ConfigNode root = read_with_bases(path);
  CHECK(root.find("base") == nullptr);
  CHECK(root.find("measured") == nullptr);
  CHECK(root.find("a")->find("x")->text == "1");
  CHECK(root.find("a")->find("x")->file == folder.path("common/base.yaml"));
  CHECK(root.find("a")->find("y")->text == "3");
  CHECK(root.find("a")->find("y")->file == path);
  CHECK(root.find("a")->find("y")->line == 2);
  CHECK(root.find("a")->find("z")->text == "4");
  CHECK(root.find("list")->children.size() == 1);
  CHECK(root.find("gone")->kind == plateau::ConfigNode::Kind::null);
}

TEST_CASE("a chain of bases ends, a circle and an absent file are refused") {
  const TemporaryFolder folder;
  folder.write("1.yaml", "v: 1\nw: 1\n");
  folder.write("2.yaml", "base: 1.yaml\nv: 2\n");
  CHECK(read_with_bases(folder.write("3.yaml", "base: 2.yaml\n")).find("v")->text == "2");
  CHECK(read_with_bases(folder.path("3.yaml")).find("w")->text == "1");
  const std::string a = folder.write("a.yaml", "base: b.yaml\n");
  const std::string b = folder.write("b.yaml", "base: ./a.yaml\n");
  const std::string circle =
      b + ":1:7: base: `./a.yaml` inherits from this file again (break the circle)";
  CHECK_THROWS_WITH_AS(read_with_bases(a), circle.c_str(), InputError);
  const std::string self = folder.write("self.yaml", "base: self.yaml\n");
  CHECK_THROWS_AS(read_with_bases(self), InputError);
  const std::string lost = folder.write("lost.yaml", "x: 1\nbase: nowhere.yaml\n");
  const std::string absent = lost + ":2:7: base: there is no file `" + folder.path("nowhere.yaml") +
                             "` (the path is relative to the file that names it)";
  CHECK_THROWS_WITH_AS(read_with_bases(lost), absent.c_str(), InputError);
}

TEST_CASE("a derived file's problem is told at the derived file") {
  const TemporaryFolder folder;
  folder.write("base.yaml", plateau::test::kSmallScenario);
  const std::string path =
      folder.write("s.yaml", "# Twice?\nbase: base.yaml\nworkload: {concurrency: none}\n");
  const std::string expected = path + ":3:25: workload.concurrency: `none` is not a whole number";
  CHECK_THROWS_WITH_AS(read_scenario(path, plateau::test::small_options()), expected.c_str(),
                       InputError);
}

TEST_CASE("the question is the first comment of the file") {
  CHECK(first_comment("# Why?\nmodel: x\n") == "Why?");
  CHECK(first_comment("\n  ## Why so?  \r\n") == "Why so?  ");
  CHECK(first_comment("model: x # no\n") == "");
  CHECK(first_comment("#\nmodel: x\n") == "");
  CHECK(first_comment("") == "");
}

TEST_CASE("ranges give both ends, evenly, whole numbers rounded and once") {
  CHECK(parse_values("0..10:3", "k") == Values{"0", "5", "10"});
  CHECK(parse_values("1..4:7", "k") == Values{"1", "2", "3", "4"});
  CHECK(parse_values("0.8..0.9:3", "k") == Values{"0.8", "0.8500000000000001", "0.9"});
  CHECK(parse_values("400..600 W:3", "k") == Values{"400 W", "500 W", "600 W"});
  CHECK(parse_values("400 W..600 W:2", "k") == Values{"400 W", "600 W"});
  CHECK(parse_values("10..0:3", "k") == Values{"10", "5", "0"});
  CHECK(parse_values("7..7:1", "k") == Values{"7"});
  CHECK(parse_values("-2..2:3", "k") == Values{"-2", "0", "2"});
}

TEST_CASE("lists split at commas outside brackets and may hold ranges") {
  CHECK(parse_values("256,512, 1024", "k") == Values{"256", "512", "1024"});
  CHECK(parse_values("1,2,4..16:4", "k") == Values{"1", "2", "4", "8", "12", "16"});
  CHECK(parse_values("{law: zipf, alpha: 1},{law: uniform}", "k") ==
        Values{"{law: zipf, alpha: 1}", "{law: uniform}"});
  CHECK(parse_values("true,false", "k") == Values{"true", "false"});
  CHECK(parse_values("../a.json,b", "k") == Values{"../a.json", "b"});
  CHECK(parse_values("3,3", "k") == Values{"3"});
  const plateau::Variation variation = parse_variation("workload.concurrency=1..3:3");
  CHECK(variation.key == "workload.concurrency");
  CHECK(variation.values == Values{"1", "2", "3"});
}

TEST_CASE("bad ranges are refused with their text") {
  CHECK(problem_of("1..5") ==
        "command line: k: `1..5` says no number of steps (write lo..hi:steps)");
  CHECK(problem_of("1..x:3") ==
        "command line: k: an end of `1..x:3` is not a number (write lo..hi:steps)");
  CHECK(problem_of("1..5:1") ==
        "command line: k: the steps of `1..5:1` are not a count of 2 to 10000");
  CHECK(problem_of("1..5:99999999").find("not a count of 2 to 10000") != std::string::npos);
  CHECK(problem_of("1 W..5 kW:3") ==
        "command line: k: the ends of `1 W..5 kW:3` have different units");
  CHECK(problem_of("1,,2") == "command line: k: an empty value in `1,,2` (write a,b,c)");
  CHECK(problem_of("") == "command line: k: an empty value in `` (write a,b,c)");
  CHECK_THROWS_AS(parse_variation("nothing"), InputError);
  CHECK_THROWS_AS(parse_variation("=1"), InputError);
}
