// A closed loop of `concurrency` clients, and the laws of request lengths.
//
// All clients send at time 0; each sends its next request at the instant its last one ends, until
// `requests` have been sent in all. This is bench_serving with --max-concurrency and an infinite
// rate, less the client's own milliseconds: real clients drift apart, which de-synchronises the
// waves of equal requests and raises the mean running batch towards the wall.
#pragma once

#include <cstdint>

#include "models/random.h"
#include "sim/engine/client.h"
#include "sim/scenario/scenario.h"

namespace plateau {

// Tokens of request `id` under the law. A function of (stream, id) alone: neither order nor engine
// matters.
std::int64_t draw_length(const LengthConfig& law, const RandomStream& stream, std::int64_t id);

// Shortest and longest length that the law can give.
struct LengthRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
LengthRange length_range(const LengthConfig& law);

// Prompt and output of request `id`, from the streams "input_length" and "output_length".
class RequestLengths {
 public:
  RequestLengths(const WorkloadConfig& workload, std::uint64_t seed);
  Request request(std::int64_t id, SimTime sent) const;

 private:
  LengthConfig input_;
  LengthConfig output_;
  RandomStream input_stream_;
  RandomStream output_stream_;
};

class ClosedLoopClient : public Client {
 public:
  ClosedLoopClient(const WorkloadConfig& workload, std::uint64_t seed);
  void start(SendQueue& queue) override;
  void on_finished(const RequestRecord& record, SendQueue& queue) override;

 private:
  void send_next(SimTime time, SendQueue& queue);

  RequestLengths lengths_;
  std::int64_t concurrency_;
  std::int64_t requests_;
  std::int64_t sent_ = 0;
};

}  // namespace plateau
