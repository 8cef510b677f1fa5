#include "sim/engine/open_loop.h"

#include "sim/engine/check.h"

namespace plateau {

RandomArrivals::RandomArrivals(const WorkloadConfig& workload, std::uint64_t seed)
    : lengths_(workload, seed),
      stream_(seed, "arrivals"),
      rate_(workload.request_rate.value_or(0)),
      shape_(workload.client == WorkloadConfig::Client::gamma ? workload.burstiness : 0),
      requests_(workload.requests) {
  PLATEAU_CHECK(rate_ > 0, "random arrivals need a rate");
}

SimTime RandomArrivals::gap(std::int64_t id) const {
  Random random = stream_.at(static_cast<std::uint64_t>(id));
  return to_sim_time(shape_ > 0 ? gamma(random, shape_) / (rate_ * shape_)
                                : exponential(random, 1 / rate_));
}

std::optional<Request> RandomArrivals::next() {
  if (sent_ == requests_) return std::nullopt;
  if (sent_ > 0) time_ += gap(sent_);
  return lengths_.request(sent_++, time_);
}

}  // namespace plateau
