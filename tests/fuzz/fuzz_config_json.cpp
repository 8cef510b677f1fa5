// JSON from anywhere: a tree whose places lie inside the text, or a refusal with a place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "calibration/config_node.h"

namespace {

void check(const plateau::ConfigNode& node, int lines) {
  if (node.line < 1 || node.line > lines || node.column < 1) std::abort();
  if (node.kind == plateau::ConfigNode::Kind::map && node.keys.size() != node.children.size())
    std::abort();
  for (const plateau::ConfigNode& child : node.children) check(child, lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  int lines = 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  try {
    check(plateau::parse_json(text, "fuzz.json"), lines);
  } catch (const plateau::InputError& error) {
    if (error.problems().empty()) std::abort();
    for (const plateau::Problem& problem : error.problems()) {
      if (problem.line > lines) std::abort();
    }
  }
  return 0;
}
