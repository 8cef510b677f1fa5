// What the YAML and the JSON parser share: building a ConfigNode tree from parse events, and
// refusing bytes that are no text before a parser guesses at them.
//
// Limits: 64 levels (readers walk the tree by recursion) and a million nodes (an alias copies what
// it names, so nine lines of YAML could otherwise ask for more memory than the machine has).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/config_node.h"

namespace plateau {

inline constexpr std::size_t kMaxConfigDepth = 64;
inline constexpr std::size_t kMaxConfigNodes = 1'000'000;

struct TextPlace {
  int line = 1;    // 1-based
  int column = 1;  // counts bytes
};

TextPlace place_of(std::string_view text, std::size_t offset);

// `text` without a UTF-8 byte order mark. Throws InputError when it is not UTF-8 text, saying what
// it looks like.
std::string_view require_utf8_text(std::string_view text, const std::string& file);

class ConfigTreeBuilder {
 public:
  using Anchor = std::size_t;  // 0: none
  explicit ConfigTreeBuilder(std::string file) : file_(std::move(file)) {}

  bool expects_key() const;  // inside a map, between two entries
  void key(std::string name, TextPlace place);
  void null(TextPlace place, Anchor anchor = 0);
  void scalar(std::string text, bool quoted, TextPlace place, Anchor anchor = 0);
  void open(ConfigNode::Kind kind, TextPlace place, Anchor anchor = 0);  // list or map
  void close();
  void alias(Anchor anchor, TextPlace place);

  // Goes on after the problem: it is thrown by finish() together with the others.
  void complain(TextPlace place, std::string message, std::string hint);
  // Gives up: throws the problem with those before it.
  [[noreturn]] void refuse(TextPlace place, std::string message, std::string hint = "");
  ConfigNode finish();

 private:
  struct Open {
    ConfigNode node;
    std::string key;  // of the entry being read
    TextPlace key_place;
    bool has_key = false;
    Anchor anchor = 0;
    std::map<std::string, TextPlace> seen;
  };

  ConfigNode node(ConfigNode::Kind kind, TextPlace place) const;
  void add(ConfigNode node, Anchor anchor);
  void count(std::size_t nodes, TextPlace place);
  std::string path() const;  // "workload.input_length"

  std::string file_;
  std::vector<Open> open_;
  std::map<Anchor, ConfigNode> anchored_;
  ConfigNode root_;
  std::size_t nodes_ = 0;
  std::vector<Problem> problems_;
};

}  // namespace plateau
