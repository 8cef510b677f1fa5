// One point of a sweep, from words to a report; what points have in common is loaded once.
//
//   PointBase          the scenario's tree, read once; a point is this tree with its values set
//   SharedCalibration  models and profiles, shared by all threads
//   PointRunner        one per thread: routing laws with what they remember, prices of operations
//
// Common random numbers: every point keeps the scenario's seed, and streams are counter-based
// (models/random.h), so two points that share a workload see the same lengths and the same experts.
// What is shared is pure, so a row depends on its point alone, not on the thread or the rows
// before.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/deployment/deployment.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/read_scenario.h"

namespace plateau {

struct PointBase {
  ConfigNode tree;  // `base:` and --set applied
  std::string file;
  std::string question;
  std::optional<std::uint64_t> seed;
  std::string data_dir;
};
// Throws InputError.
PointBase read_point_base(const std::string& path, const ScenarioOptions& options);

class SharedCalibration {
 public:
  explicit SharedCalibration(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  ModelSpec model(const std::string& name);
  std::shared_ptr<const Profile> profile(const Scenario& scenario);

 private:
  std::string data_dir_;
  std::mutex mutex_;
  std::map<std::string, ModelSpec> models_;
  std::map<std::string, std::shared_ptr<const Profile>> profiles_;
};

class PointRunner {
 public:
  PointRunner(const PointBase& base, SharedCalibration& calibration)
      : base_(base), calibration_(calibration) {}

  // `sets`: "key=value". Both throw InputError when the point is not possible.
  Scenario scenario(const std::vector<std::string>& sets);
  // `repetition` 0 is the scenario itself, others as sim/interval/interval.h has them.
  Deployment deployment(const Scenario& scenario, int repetition = 0);

 private:
  std::shared_ptr<const Profile> profile(const Scenario& scenario, int repetition);
  std::shared_ptr<ExpertRouting> routing(const Scenario& scenario, int repetition);

  const PointBase& base_;
  SharedCalibration& calibration_;
  std::map<std::string, Assignment> assignments_;
  std::map<std::string, std::shared_ptr<ExpertRouting>> routings_;
  std::map<std::string, std::shared_ptr<const Profile>> profiles_;
};

}  // namespace plateau
