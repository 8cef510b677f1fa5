// A scenario from anywhere: whatever the text, it is read or refused with places, never anything
// else. Lines that begin with `#set ` are also applied as --set words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "calibration/input_error.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/ranges.h"
#include "sim/scenario/read_scenario.h"

namespace {

std::vector<std::string> sets_of(const std::string& text) {
  std::vector<std::string> sets;
  for (std::size_t start = text.find("#set "); start != std::string::npos;
       start = text.find("#set ", start)) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    sets.push_back(text.substr(start + 5, end - start - 5));
    start = end;
  }
  return sets;
}

void read(const std::string& text) {
  plateau::ConfigNode root = plateau::parse_yaml(text, "fuzz.yaml");
  if (root.kind != plateau::ConfigNode::Kind::map) return;
  const std::vector<std::string> sets = sets_of(text);
  for (const std::string& set : sets) {
    try {
      plateau::parse_variation(set);
    } catch (const plateau::InputError&) {
    }
  }
  plateau::apply_assignments(sets, &root);
  plateau::ScenarioOptions options;
  options.load_model = [](const std::string&) { return plateau::ModelSpec{}; };
  plateau::scenario_from(std::move(root), "fuzz.yaml", options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const plateau::InputError& error) {
    if (error.problems().empty() || std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
