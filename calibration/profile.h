// A calibration profile: what one engine version does on one GPU, as measured, with its provenance.
//
// A profile is a folder calibration/data/<device>/<profile>/ with meta.yaml and CSV tables beside
// it. It implements KernelCosts: exact hit -> measured; inside the table -> interpolated; beyond ->
// the utilisation at the edge is held and the roofline scaled (extrapolated); nothing to anchor on
// -> an error, never a made-up number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/kernel_costs.h"

namespace plateau {

struct TableInfo {
  std::string name;    // file name
  std::string digest;  // FNV-1a 64 of the content, hex
  double noise = 0;    // relative repetition noise of its values (1 sigma)
};

struct Provenance {
  std::string profile;  // "rtx-pro-6000-server/sglang-0.5.14"
  std::string source;   // repository, file, commit or who measured it
  std::string licence;
  std::string date;
  std::string engine;
  std::string driver;
  std::string tool;
  std::vector<TableInfo> tables;
};

// What a scenario chooses about a profile.
struct ProfileOptions {
  std::string data_dir;  // folder that holds calibration/data
  std::string name;      // "<device>/<profile>", or a folder: "./mine/h200-sxm/box-7"
  Interconnect interconnect = Interconnect::nvlink;
  int ranks = 1;
  std::string board;      // gain on power; "" = the profile's own board
  std::string attention;  // "table" (default) or "kv_bandwidth": attention priced as its KV bytes
                          // over bandwidth
  std::string power;      // "" or "profile"; "limit": watts as shares of the board's limit, as if
                          // nobody had metered it (models/power_fallback.h)
};

class Profile : public KernelCosts {
 public:
  virtual const Provenance& provenance() const = 0;
  virtual const std::vector<std::string>& warnings()
      const = 0;  // e.g. unknown board: gain 1, wide band
  // Of the bands of all watts, the relative part that they share: how well this very board is
  // known.
  virtual double board_band() const { return 0; }
  // Bytes a GPU that an engine was found to hold beside what its pool rule knows.
  virtual std::optional<Estimate> unexplained_memory() const { return std::nullopt; }
};

// A profile that is named by its folder: "./...", "../..." or "/...".
bool is_profile_path(const std::string& name);
// Where it lies.
std::string profile_folder(const std::string& data_dir, const std::string& name);

// Throws InputError.
std::unique_ptr<Profile> load_profile(const ProfileOptions& options);

struct ProfileName {
  std::string name;
  std::string summary;
};
std::vector<ProfileName> list_profiles(const std::string& data_dir);

}  // namespace plateau
