// The requests of a scenario, as far as they are known before anything runs: how many, how long,
// and the client that will send them. A trace is loaded here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/deployment/arrival_trace.h"
#include "sim/engine/client.h"
#include "sim/scenario/scenario.h"

namespace plateau {

class Workload {
 public:
  // Throws InputError when the trace cannot be read, holds fewer requests than are asked for, or,
  // unless the scenario lets them be dropped, some that neither the model's context nor the engine
  // (`fits_alone`) can hold.
  Workload(const Scenario& scenario,
           const std::function<bool(std::int64_t input, std::int64_t output)>& fits_alone);

  std::int64_t requests() const { return requests_; }  // that will be sent
  std::int64_t dropped() const { return dropped_; }    // rows of the trace that do not fit
  double mean_input() const { return mean_input_; }    // tokens; of a law its middle
  double mean_output() const { return mean_output_; }
  bool open_loop() const { return config_.client != WorkloadConfig::Client::closed_loop; }
  int clients() const { return open_loop() ? 0 : config_.concurrency; }
  // Tokens of the longest request, prompt and output; nothing for a trace, whose longest request
  // says little about how many fit.
  std::optional<std::int64_t> longest() const;

  std::optional<double> arrival_rate() const;  // requests/s of an open loop
  std::string load_text() const;               // "2,048 clients", "4 requests/s"
  std::string text() const;  // "2,048 clients, 6,144 requests of 128 in / 128 out"
  const std::vector<std::string>& warnings() const { return warnings_; }

  // A fresh one for each run.
  std::unique_ptr<Client> client() const;

 private:
  void load_trace(const Scenario& scenario,
                  const std::function<bool(std::int64_t, std::int64_t)>& fits_alone);
  double trace_rate() const;

  WorkloadConfig config_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const ArrivalTrace> trace_;
  std::int64_t requests_ = 0;
  std::int64_t dropped_ = 0;
  double mean_input_ = 0;
  double mean_output_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace plateau
