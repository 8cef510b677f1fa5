// `plateau import`: what was recognised goes to the screen, what was measured into one file.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <system_error>

#include "calibration/import/import.h"
#include "calibration/import/write_measurement.h"
#include "calibration/input_error.h"
#include "sim/cli/commands.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

// A log must not be lost to its own import.
void refuse_overwriting(const std::vector<std::string>& inputs, const std::string& output) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!std::filesystem::equivalent(input, output, error) || error) continue;
    throw InputError(Problem{output, 0, 0, "", "is one of the files to import",
                             "write the measurement to another file: --out FILE"});
  }
}

std::vector<std::string> warnings_of(const imports::Measurement& measurement) {
  std::vector<std::string> warnings;
  for (const imports::FileReport& report : measurement.files) {
    warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
  }
  return warnings;
}

// Long lines in a terminal's width, what goes on two columns further in.
std::string folded(const std::string& text) {
  constexpr std::size_t kColumns = 80;
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (width_of(line) <= kColumns) {
      result += line + "\n";
      continue;
    }
    const std::string indent(std::min(line.find_first_not_of(' '), kColumns / 2), ' ');
    std::vector<std::string> parts =
        wrap(indent + "  ", line.substr(indent.size()), kColumns, LongWords::kept);
    parts.front().erase(0, 2);
    for (const std::string& part : parts) result += part + "\n";
  }
  return result;
}

}  // namespace

int import_command(const ImportArguments& arguments, const Terminal& terminal) {
  const bool to_screen = arguments.common.json == "-";
  std::string out = arguments.out;
  if (out.empty() && arguments.common.json.empty()) out = "measurement.csv";
  for (const std::string& path : {out, arguments.common.json}) {
    if (!path.empty() && path != "-") refuse_overwriting(arguments.files, path);
  }
  const imports::Measurement measurement =
      imports::import_files({arguments.files, arguments.columns});
  std::ostream& words = to_screen ? *terminal.err : *terminal.out;
  if (!arguments.common.quiet) words << folded(imports::describe(measurement));
  if (refused(warnings_of(measurement), arguments.common, terminal)) return kRefused;
  if (to_screen) {
    imports::write_json(measurement, [&](std::string_view text) {
      terminal.out->write(text.data(), static_cast<std::streamsize>(text.size()));
    });
  } else if (!arguments.common.json.empty()) {
    imports::write_measurement_file(measurement, arguments.common.json, imports::Form::json);
  }
  if (!out.empty()) {
    imports::write_measurement_file(measurement, out, imports::form_of(out));
    if (!arguments.common.quiet) words << "written: " << out << "\n";
  }
  return kDone;
}

}  // namespace plateau
