#include "calibration/config_node.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using plateau::ConfigNode;
using plateau::InputError;
using plateau::parse_json;
using plateau::parse_yaml;
using Kind = plateau::ConfigNode::Kind;

namespace {

// All problems as the user sees them, one a line.
std::string problems_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError& error) {
    std::string text;
    for (const plateau::Problem& problem : error.problems()) text += to_string(problem) + "\n";
    return text;
  }
  return "nothing";
}

std::string yaml_problems(std::string_view text) {
  return problems_of([&] { parse_yaml(text, "a.yaml"); });
}

std::string json_problems(std::string_view text) {
  return problems_of([&] { parse_json(text, "a.json"); });
}

std::string place(const ConfigNode& node) {
  return std::to_string(node.line) + ":" + std::to_string(node.column);
}

}  // namespace

TEST_CASE("a YAML document becomes a tree with places") {
  const ConfigNode root =
      parse_yaml("model: glm\nengine:\n  sizes: [1, '2']\n  none: ~\n", "a.yaml");
  REQUIRE(root.kind == Kind::map);
  CHECK(root.file == "a.yaml");
  CHECK(root.keys == std::vector<std::string>{"model", "engine"});
  CHECK(root.find("model")->text == "glm");
  CHECK(place(*root.find("model")) == "1:8");
  CHECK(root.find("absent") == nullptr);
  const ConfigNode& engine = *root.find("engine");
  const ConfigNode& sizes = *engine.find("sizes");
  REQUIRE(sizes.kind == Kind::list);
  CHECK(place(sizes) == "3:10");
  CHECK(sizes.children[0].text == "1");
  CHECK_FALSE(sizes.children[0].quoted);
  CHECK(sizes.children[1].quoted);
  CHECK(place(sizes.children[1]) == "3:14");
  CHECK(engine.find("none")->kind == Kind::null);
}

TEST_CASE("YAML with CRLF, a byte order mark or an anchor reads the same") {
  const ConfigNode crlf = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb:\r\n  c: two words\r\n",
      "a.yaml");
  CHECK(crlf.find("a")->text == "1");
  CHECK(crlf.find("b")->find("c")->text == "two words");
  CHECK(place(*crlf.find("b")->find("c")) == "3:6");
  const ConfigNode anchored = parse_yaml("a: &x {n: 4}\nb: *x\n", "a.yaml");
  CHECK(anchored.find("b")->find("n")->text == "4");
}

TEST_CASE("an empty YAML document is null") {
  for (const char* text : {"", "# only a comment\n", "---\n", "~"}) {
    const ConfigNode root = parse_yaml(text, "a.yaml");
    CHECK(root.kind == Kind::null);
    CHECK(root.file == "a.yaml");
    CHECK(root.line >= 1);
  }
}

TEST_CASE("YAML scalars stay text") {
  const ConfigNode root = parse_yaml("a: 010\nb: no\nc: 1e3\nd: 'null'\n", "a.yaml");
  CHECK(root.find("a")->text == "010");
  CHECK(root.find("b")->text == "no");
  CHECK(root.find("c")->text == "1e3");
  CHECK(root.find("d")->kind == Kind::scalar);
}

TEST_CASE("duplicate YAML keys are all named with both places") {
  CHECK(yaml_problems("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") ==
        "a.yaml:4:3: b.c: this key is given twice, first at line 3, column 3 (remove one of the "
        "two)\n"
        "a.yaml:5:1: a: this key is given twice, first at line 1, column 1 (remove one of the "
        "two)\n");
}

TEST_CASE("YAML that is not supported is refused by name") {
  CHECK(yaml_problems("x: &x {a: 1}\nb:\n  <<: *x\n") ==
        "a.yaml:3:3: b.<<: merge keys are not supported (write the keys out; a scenario inherits "
        "with `base: "
        "other.yaml`)\n");
  CHECK(yaml_problems("'<<': 1\n") == "nothing");
  CHECK(yaml_problems("a: 1\n---\nb: 2\n").find("a.yaml:2:1: a second YAML document starts here") ==
        0);
  CHECK(yaml_problems("a: !!int 3\n").find("a.yaml:1:4: a: YAML tags are not supported") == 0);
  CHECK(yaml_problems("? [a, b]\n: 1\n") ==
        "a.yaml:1:3: a list or map stands where a key is due (write `key: value`; is a bracket "
        "left open?)\n");
  CHECK(yaml_problems("~: 1\n").find("a key must be a word") != std::string::npos);
  CHECK(yaml_problems("a: &x [*x]\n") ==
        "a.yaml:1:8: a[0]: this alias stands inside the value it names\n");
}

TEST_CASE("YAML syntax errors carry their place") {
  CHECK(yaml_problems("a: [1, 2\nb: 3\n").find("a.yaml:2:") == 0);
  CHECK(yaml_problems("a: 1\n\tb: 2\n").find("a.yaml:2:") == 0);
  CHECK(yaml_problems("a: *nowhere\n").find("a.yaml:1:") == 0);
}

TEST_CASE("a document may be 64 levels deep and no deeper") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(yaml_problems(nested(64)) == "nothing");
  CHECK(json_problems(nested(64)) == "nothing");
  CHECK(yaml_problems(nested(65)).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(json_problems(nested(65)).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(json_problems(nested(200000)).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(yaml_problems(std::string(200000, '[')) != "nothing");
}

TEST_CASE("aliases cannot grow a document without end") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  CHECK(yaml_problems(text).find("more than 1000000 values") != std::string::npos);
}

TEST_CASE("what is not UTF-8 text is refused with a sentence") {
  using namespace std::string_view_literals;
  for (const auto& problems : {yaml_problems, json_problems}) {
    CHECK(problems("\xFF\xFE"
                   "a\0:\0"sv)
              .find("this is UTF-16 text, not UTF-8 text (save it as plain UTF-8)") !=
          std::string::npos);
    CHECK(problems("a\0:\0 \0b\0"sv).find("looks like UTF-16 text") != std::string::npos);
    CHECK(problems("\x1F\x8B\x08\0"sv).find("is gzip data") != std::string::npos);
    CHECK(problems("some longer text with one zero\0 in it"sv).find("is a binary file") !=
          std::string::npos);
    CHECK(problems("a: \"x\n\xC3(\"").find(":2:1: this byte is not UTF-8 text") !=
          std::string::npos);
    CHECK(problems("a\x01").find(":1:2: a control character stands here") != std::string::npos);
  }
}

TEST_CASE("a JSON document becomes a tree with places") {
  const ConfigNode root = parse_json(
      "{\n  \"n\": 12, \"x\":1.50e3,\n  \"list\": [true, null, -7],\n  \"s\" : \"a \\\"b\\\" "
      "\\u00e9\",\n"
      "  \"o\": {\"k\": []}\n}\n",
      "a.json");
  CHECK(place(root) == "1:1");
  CHECK(root.find("n")->text == "12");
  CHECK_FALSE(root.find("n")->quoted);
  CHECK(place(*root.find("n")) == "2:8");
  CHECK(root.find("x")->text == "1.50e3");
  CHECK(place(*root.find("x")) == "2:16");
  const ConfigNode& list = *root.find("list");
  CHECK(place(list) == "3:11");
  CHECK(list.children[0].text == "true");
  CHECK(list.children[1].kind == Kind::null);
  CHECK(place(list.children[1]) == "3:18");
  CHECK(list.children[2].text == "-7");
  CHECK(place(list.children[2]) == "3:24");
  CHECK(root.find("s")->text == "a \"b\" \xC3\xA9");
  CHECK(root.find("s")->quoted);
  CHECK(place(*root.find("s")) == "4:9");
  CHECK(root.find("o")->find("k")->kind == Kind::list);
  CHECK(place(*root.find("o")->find("k")) == "5:14");
}

TEST_CASE("a bare JSON value is a document") {
  CHECK(parse_json("17", "a.json").text == "17");
  CHECK(parse_json("\xEF\xBB\xBF true ", "a.json").text == "true");
  CHECK(place(parse_json(" \n null", "a.json")) == "2:2");
}

TEST_CASE("duplicate JSON keys are named with both places") {
  CHECK(json_problems("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}, \"a\": 2}") ==
        "a.json:2:16: b.c: this key is given twice, first at line 2, column 8 (remove one of the "
        "two)\n"
        "a.json:2:25: a: this key is given twice, first at line 1, column 2 (remove one of the "
        "two)\n");
}

TEST_CASE("JSON syntax errors carry their place") {
  CHECK(json_problems("{\"a\": 1,\n  \"b\" 2}")
            .find("a.json:2:7: b: JSON syntax: syntax error while parsing object separator - ") ==
        0);
  CHECK(json_problems("").find("a.json:1:1: JSON syntax: ") == 0);
  CHECK(json_problems("{\"a\": NaN}").find("a.json:1:7: a: JSON syntax: ") == 0);
  CHECK(json_problems("{\"a\": 1e999}") ==
        "a.json:1:7: a: JSON syntax: number overflow parsing '1e999'\n");
  CHECK(json_problems("[\"" + std::string(5000, 'x')).size() < 300);
  CHECK(json_problems("[1, 2").find("a.json:1:6: ") == 0);
  CHECK(json_problems("[1] 2").find("a.json:1:5: ") == 0);
}
