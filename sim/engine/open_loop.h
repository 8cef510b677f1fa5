// Open loops: requests come whatever the engine does, by a random law here or by a recorded trace
// (sim/deployment/arrival_trace.h).
//
// Random arrivals. The gaps between requests are independent, with mean 1 / request_rate seconds:
//   poisson   exponential
//   gamma     gamma with shape `burstiness`, scale 1 / (rate * burstiness): its squared coefficient
//             of variation is 1 / burstiness, so below 1 is burstier than Poisson and above 1 more
//             even. The same law as vllm bench serve --burstiness, which however rescales the gaps
//             it drew until they add up to requests / rate; here they stay as drawn.
// The first request is sent at time 0. Gap i is a function of (seed, "arrivals", i) alone, so that
// a run with more requests begins like one with fewer. Wrong for real traffic, which is neither
// independent nor stationary: use a trace.
#pragma once

#include <memory>
#include <optional>

#include "sim/engine/closed_loop.h"

namespace plateau {

// Requests one by one, in the order of their sending; nothing when there are no more.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  virtual std::optional<Request> next() = 0;
};

class RandomArrivals : public RequestSource {
 public:
  // workload.client is poisson or gamma, workload.request_rate is set.
  RandomArrivals(const WorkloadConfig& workload, std::uint64_t seed);
  std::optional<Request> next() override;

 private:
  SimTime gap(std::int64_t id) const;

  RequestLengths lengths_;
  RandomStream stream_;
  double rate_;
  double shape_;  // 0: exponential gaps
  std::int64_t requests_;
  std::int64_t sent_ = 0;
  SimTime time_{};
};

// Sends what a source gives at the times it says. One request is under way to the engine at a time.
class OpenLoopClient : public Client {
 public:
  explicit OpenLoopClient(std::unique_ptr<RequestSource> source) : source_(std::move(source)) {}
  void start(SendQueue& queue) override { send_next(queue); }
  void on_sent(const Request&, SendQueue& queue) override { send_next(queue); }

 private:
  void send_next(SendQueue& queue) {
    if (const auto request = source_->next()) queue.send(*request);
  }
  std::unique_ptr<RequestSource> source_;
};

}  // namespace plateau
