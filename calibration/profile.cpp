#include "calibration/profile.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "calibration/fitted_profile.h"
#include "calibration/input_error.h"
#include "calibration/measured_profile.h"
#include "calibration/profile_meta.h"
#include "calibration/scaled_profile.h"

namespace plateau {
namespace {

namespace fs = std::filesystem;

std::string root_of(const std::string& data_dir) { return data_dir + "/calibration/data"; }

// Folders inside `path`, by name.
std::vector<std::string> folders(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void unknown(const ProfileOptions& options) {
  std::vector<std::string> names;
  std::string all;
  for (const std::string& device : folders(root_of(options.data_dir))) {
    for (const std::string& profile : folders(root_of(options.data_dir) + "/" + device)) {
      names.push_back(device + "/" + profile);
      all += (all.empty() ? "" : ", ") + names.back();
    }
  }
  const std::string near = closest(options.name, names);
  throw InputError(Problem{
      "", 0, 0, "calibration.profile", "no profile \"" + options.name + "\"",
      near.empty() ? (all.empty() ? "none in " + root_of(options.data_dir) : "there are: " + all)
                   : "did you mean " + near + "?"});
}

}  // namespace

std::unique_ptr<Profile> load_profile(const ProfileOptions& options) {
  const std::string folder = root_of(options.data_dir) + "/" + options.name;
  std::error_code error;
  const bool plain = options.name.find("..") == std::string::npos && !options.name.empty();
  if (!plain || !fs::exists(folder + "/meta.yaml", error)) unknown(options);
  ProfileMeta meta = read_profile_meta(folder, options.name);
  if (meta.kind == "measured") {
    return std::make_unique<MeasuredProfile>(std::move(meta), options, folder);
  }
  if (meta.kind == "scaled") {
    const std::string base = root_of(options.data_dir) + "/" + meta.scaled_from;
    const ProfileMeta from = read_profile_meta(base, meta.scaled_from);
    return load_fitted_profile(scaled_meta(std::move(meta), from), options, base);
  }
  return load_fitted_profile(std::move(meta), options, folder);
}

std::vector<ProfileName> list_profiles(const std::string& data_dir) {
  std::vector<ProfileName> profiles;
  for (const std::string& device : folders(root_of(data_dir))) {
    for (const std::string& profile : folders(root_of(data_dir) + "/" + device)) {
      const std::string name = device + "/" + profile;
      const ProfileMeta meta = read_profile_meta(root_of(data_dir) + "/" + name, name);
      profiles.push_back(
          {name, meta.kind + ", " + meta.provenance.engine + ", " + meta.provenance.date});
    }
  }
  return profiles;
}

}  // namespace plateau
