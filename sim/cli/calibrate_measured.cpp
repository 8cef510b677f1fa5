// `plateau calibrate --scenario --measured`: a deployment's logs to a corrected profile.
#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>

#include "calibration/csv.h"
#include "calibration/import/import.h"
#include "sim/calibrate/calibration.h"
#include "sim/cli/commands.h"

namespace plateau {

namespace {

namespace fs = std::filesystem;

// Files are those that the measurement names: one that was imported before stands for several.
CalibrationRequest request_of(const CalibrateArguments& arguments,
                              const imports::Measurement& measurement, const Terminal& terminal) {
  CalibrationRequest request;
  request.data_dir = terminal.data_dir;
  request.utc_offset_h = arguments.utc_offset_h;
  std::vector<Problem> problems;
  for (const std::string& text : arguments.offsets) {
    const std::size_t equals = text.rfind('=');
    const auto seconds =
        equals == std::string::npos ? std::nullopt : parse_number(text.substr(equals + 1));
    const std::string file = text.substr(0, equals);
    const bool given =
        std::any_of(measurement.files.begin(), measurement.files.end(),
                    [&](const imports::FileReport& report) { return report.file == file; });
    if (!seconds) {
      problems.push_back(
          {"", 0, 0, "--offset", "'" + text + "' is not FILE=SECONDS", "--offset power.csv=-3600"});
    } else if (!given) {
      problems.push_back({"", 0, 0, "--offset", file + " is none of the measured files",
                          "write it as after --measured"});
    } else {
      request.offsets[file] = *seconds;
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return request;
}

// `path` as a profile or a base is named in a file that lies in `folder`.
std::string seen_from(const fs::path& folder, const std::string& path) {
  const std::string seen =
      fs::absolute(path).lexically_normal().lexically_relative(fs::absolute(folder)).string();
  return seen.rfind("..", 0) == 0 ? seen : "./" + seen;
}

// The folder of the new profile, and how a scenario names it.
struct Place {
  std::string folder;
  std::string profile;
};

Place place_of(const CalibrateArguments& arguments, const Scenario& scenario,
               const Terminal& terminal) {
  const std::string name =
      arguments.name.empty() ? fs::path(arguments.scenario).stem().string() : arguments.name;
  if (name.find('/') != std::string::npos || name.find("..") != std::string::npos) {
    throw InputError(Problem{"", 0, 0, "--name", "'" + name + "' is not a folder's name",
                             "--into says where it lies"});
  }
  const std::string shipped = terminal.data_dir + "/calibration/data";
  const std::string inside = scenario.hardware.device + "/" + name;
  if (arguments.into.empty()) return {shipped + "/" + inside, inside};
  const std::string folder = (fs::path(arguments.into) / inside).string();
  return {folder, is_profile_path(folder) ? folder : "./" + folder};
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw InputError(Problem{folder, 0, 0, "--into", "cannot be made: " + error.message(), ""});
  }
}

// Keys as "engine.kv_source" -> value, written as nested maps.
struct Keys {
  std::string value;
  std::map<std::string, Keys> inside;

  void set(const std::string& path, const std::string& text) {
    const std::size_t dot = path.find('.');
    Keys& key = inside[path.substr(0, dot)];
    dot == std::string::npos ? void(key.value = text) : key.set(path.substr(dot + 1), text);
  }
  std::string yaml(const std::string& indent) const {
    std::string text;
    for (const auto& [name, key] : inside) {
      text += indent + name + ":";
      text += key.inside.empty() ? " " + key.value + "\n" : "\n" + key.yaml(indent + "  ");
    }
    return text;
  }
};

// The scenario that was calibrated, with what --set changed, the new profile and the logged pool.
std::string overlay_yaml(const CalibrateArguments& arguments, const CalibrationResult& result,
                         const Place& place) {
  const fs::path folder = fs::absolute(arguments.out).parent_path();
  Keys keys;
  for (const std::string& set : arguments.common.sets) {
    const std::size_t equals = set.find('=');
    keys.set(set.substr(0, equals), set.substr(equals + 1));
  }
  keys.set("base", seen_from(folder, arguments.scenario));
  keys.set("calibration.profile",
           is_profile_path(place.profile) ? seen_from(folder, place.folder) : place.profile);
  for (const auto& [key, value] : result.engine_keys) keys.set("engine." + key, value);
  return "# " + result.question +
         "\n#\n# The scenario of `base`, calibrated on the logs of its "
         "run by `plateau calibrate`.\n" +
         keys.yaml("");
}

}  // namespace

int calibrate_measured_command(const CalibrateArguments& arguments, const Terminal& terminal) {
  const Scenario scenario =
      read_scenario(arguments.scenario, scenario_options(arguments.common, terminal));
  const imports::Measurement measurement =
      imports::import_files({arguments.measured, arguments.columns});
  const CalibrationRequest request = request_of(arguments, measurement, terminal);
  CalibrationResult result;
  try {
    result = calibrate(scenario, measurement, request);
  } catch (const InputError& error) {
    throw located(error, scenario);
  }
  if (refused(result.contradictions, arguments.common, terminal)) return kRefused;
  const Place place = place_of(arguments, scenario, terminal);
  const bool of_path = is_profile_path(result.base);
  make_folder(place.folder);
  write_file(
      place.folder + "/meta.yaml",
      corrected_meta_yaml(result, of_path ? seen_from(place.folder, result.base) : result.base));
  if (!arguments.out.empty()) write_file(arguments.out, overlay_yaml(arguments, result, place));
  if (!arguments.svg.empty()) write_file(arguments.svg, calibration_svg(result));
  const std::string& json = arguments.common.json;
  if (!json.empty()) write_json(calibration_json(result), json, terminal);
  if (arguments.common.quiet || json == "-") return kDone;
  *terminal.out << calibration_text(result) << "\nwritten: " << place.folder
                << "/meta.yaml (calibration.profile: " << place.profile << ")\n";
  for (const std::string& file : {arguments.out, arguments.svg}) {
    if (!file.empty()) *terminal.out << "written: " << file << "\n";
  }
  return kDone;
}

}  // namespace plateau
