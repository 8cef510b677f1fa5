// Any text as a launch script: it becomes a scenario's YAML that parses, or is refused with an
// InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "calibration/config_node.h"
#include "calibration/import/launch_command.h"
#include "calibration/input_error.h"
#include "sim/scenario/from_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plateau::ScenarioDraft draft;
  try {
    const auto script = plateau::imports::parse_launch_script(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.sh");
    draft = plateau::draft_scenario(script, {});
  } catch (const plateau::InputError&) {
    return 0;
  }
  try {
    plateau::parse_yaml(draft.yaml, "draft.yaml");
  } catch (const plateau::InputError&) {
    std::abort();  // our own text must parse
  }
  return 0;
}
