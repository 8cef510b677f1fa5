// Deployments of many scenarios that share few profiles: each profile is loaded once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/deployment/deployment.h"

namespace plateau {

class DeploymentCache {
 public:
  explicit DeploymentCache(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Deployment deploy(const Scenario& scenario) {
    return Deployment(scenario, profile(scenario), make_routing(scenario));
  }

  std::shared_ptr<const Profile> profile(const Scenario& scenario) {
    const ProfileOptions options = profile_options(scenario, data_dir_);
    const std::string key = options.name + '|' + name_of(options.interconnect) + '|' +
                            std::to_string(options.ranks) + '|' + options.board + '|' +
                            options.attention + '|' + options.power;
    std::shared_ptr<const Profile>& profile = profiles_[key];
    if (!profile) profile = load_profile_of(scenario, data_dir_);
    return profile;
  }

 private:
  std::string data_dir_;
  std::map<std::string, std::shared_ptr<const Profile>> profiles_;
};

}  // namespace plateau
