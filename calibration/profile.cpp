#include "calibration/profile.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "calibration/corrected_profile.h"
#include "calibration/fitted_profile.h"
#include "calibration/input_error.h"
#include "calibration/measured_profile.h"
#include "calibration/profile_meta.h"
#include "calibration/scaled_profile.h"
#include "calibration/unmetered_profile.h"

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

constexpr int kMostLayers = 8;  // corrections on corrections: more is a circle

std::unique_ptr<Profile> profile_of(ProfileMeta meta, const ProfileOptions& options,
                                    const std::string& folder) {
  if (meta.kind == "measured")
    return std::make_unique<MeasuredProfile>(std::move(meta), options, folder);
  if (meta.kind == "scaled") {
    const std::string base = root_of(options.data_dir) + "/" + meta.scaled_from;
    const ProfileMeta from = read_profile_meta(base, meta.scaled_from);
    return load_fitted_profile(scaled_meta(std::move(meta), from), options, base);
  }
  return load_fitted_profile(std::move(meta), options, folder);
}

std::unique_ptr<Profile> load(const ProfileOptions& options, int layers) {
  const std::string folder = profile_folder(options.data_dir, options.name);
  std::error_code error;
  const bool plain = is_profile_path(options.name) ||
                     (options.name.find("..") == std::string::npos && !options.name.empty());
  if (!plain || !fs::exists(folder + "/meta.yaml", error)) unknown(options);
  if (is_corrected_profile(folder)) {
    const CorrectedMeta meta = read_corrected_meta(folder, options.name);
    if (layers >= kMostLayers) {
      throw InputError(Problem{folder + "/meta.yaml", 0, 0, "base",
                               "leads through more than 8 corrected profiles",
                               "name a profile that has tables of its own"});
    }
    ProfileOptions base = options;
    base.name = meta.base;
    std::shared_ptr<const Profile> loaded = load(base, layers + 1);
    std::vector<std::string> warnings;
    if (digest_of_profile(*loaded, profile_folder(options.data_dir, meta.base)) !=
        meta.base_digest) {
      warnings.push_back("profile " + options.name + " was fitted on another state of " +
                         meta.base + ": calibrate again");
    }
    return std::make_unique<CorrectedProfile>(std::move(loaded), meta.corrections, meta.provenance,
                                              std::move(warnings));
  }
  ProfileMeta meta = read_profile_meta(folder, options.name);
  const bool metered = meta.power_known && options.power != "limit";
  const std::optional<double> idle = meta.idle_w;
  std::unique_ptr<Profile> profile = profile_of(std::move(meta), options, folder);
  const auto* measured = dynamic_cast<const MeasuredProfile*>(profile.get());
  if (metered && (measured == nullptr || measured->power().known())) return profile;
  return std::make_unique<UnmeteredProfile>(std::move(profile), idle);
}

std::string summary_of(const std::string& folder, const std::string& name) {
  if (is_corrected_profile(folder)) {
    const CorrectedMeta meta = read_corrected_meta(folder, name);
    return "corrected, " + meta.provenance.engine + ", " + meta.provenance.date + ", over " +
           meta.base;
  }
  const ProfileMeta meta = read_profile_meta(folder, name);
  return meta.kind + ", " + meta.provenance.engine + ", " + meta.provenance.date;
}

}  // namespace

bool is_profile_path(const std::string& name) {
  return name.rfind("./", 0) == 0 || name.rfind("../", 0) == 0 || name.rfind('/', 0) == 0;
}

std::string profile_folder(const std::string& data_dir, const std::string& name) {
  return is_profile_path(name) ? name : root_of(data_dir) + "/" + name;
}

std::unique_ptr<Profile> load_profile(const ProfileOptions& options) { return load(options, 0); }

std::vector<ProfileName> list_profiles(const std::string& data_dir) {
  std::vector<ProfileName> profiles;
  for (const std::string& device : folders(root_of(data_dir))) {
    for (const std::string& profile : folders(root_of(data_dir) + "/" + device)) {
      const std::string name = device + "/" + profile;
      profiles.push_back({name, summary_of(root_of(data_dir) + "/" + name, name)});
    }
  }
  return profiles;
}

}  // namespace plateau
