#include "sim/serving/scheduler.h"

#include <string>

namespace plateau {

const std::vector<SchedulerEntry>& schedulers() {
  static const std::vector<SchedulerEntry> entries = {
      {"sglang", make_sglang_scheduler},
      {"simple", make_simple_scheduler},
  };
  return entries;
}

std::unique_ptr<Scheduler> make_scheduler(std::string_view name, const EngineLimits& limits) {
  for (const SchedulerEntry& entry : schedulers()) {
    if (name == entry.name) return entry.make(limits);
  }
  PLATEAU_CHECK(false, "no scheduler is called " + std::string(name));
  return nullptr;
}

}  // namespace plateau
