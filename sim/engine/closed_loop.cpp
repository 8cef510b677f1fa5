#include "sim/engine/closed_loop.h"

#include <algorithm>
#include <cmath>

#include "sim/engine/check.h"

namespace plateau {

namespace {

// tokens * factor, where the product is meant exactly: 100 * 0.29 is 28.999... in doubles.
double exact_product(double tokens, double factor) {
  const double product = tokens * factor;
  const double nearest = std::round(product);
  return std::abs(product - nearest) < 1e-9 * std::max(1.0, tokens) ? nearest : product;
}

}  // namespace

LengthRange length_range(const LengthConfig& law) {
  const double tokens = law.tokens;
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  LengthRange range{law.tokens, law.tokens};
  switch (law.law) {
    case LengthConfig::Law::fixed:
      break;
    case LengthConfig::Law::sglang_uniform:  // int() of the plain double product, as Python does
      range.low = whole(tokens * law.ratio);
      break;
    case LengthConfig::Law::vllm_uniform:
      range.low = whole(std::floor(tokens * (1 - law.ratio)));
      range.high = whole(std::ceil(tokens * (1 + law.ratio)));
      break;
    case LengthConfig::Law::jitter:
      range.low = whole(std::ceil(exact_product(tokens, 1 - law.ratio)));
      range.high = whole(std::floor(exact_product(tokens, 1 + law.ratio)));
      break;
  }
  range.low = std::max<std::int64_t>(range.low, 1);
  range.high = std::max(range.high, range.low);
  return range;
}

std::int64_t draw_length(const LengthConfig& law, const RandomStream& stream, std::int64_t id) {
  const LengthRange range = length_range(law);
  if (range.low == range.high) return range.low;
  Random random = stream.at(static_cast<std::uint64_t>(id));
  return uniform_int(random, range.low, range.high);
}

RequestLengths::RequestLengths(const WorkloadConfig& workload, std::uint64_t seed)
    : input_(workload.input),
      output_(workload.output),
      input_stream_(seed, "input_length"),
      output_stream_(seed, "output_length") {}

Request RequestLengths::request(std::int64_t id, SimTime sent) const {
  Request request;
  request.id = id;
  request.input_tokens = draw_length(input_, input_stream_, id);
  request.output_tokens = draw_length(output_, output_stream_, id);
  request.max_new_tokens = request.output_tokens;  // benchmarks ask for exactly what they will get
  request.sent = sent;
  return request;
}

ClosedLoopClient::ClosedLoopClient(const WorkloadConfig& workload, std::uint64_t seed)
    : lengths_(workload, seed), concurrency_(workload.concurrency), requests_(workload.requests) {
  PLATEAU_CHECK(concurrency_ >= 1, "a closed loop needs a client");
}

void ClosedLoopClient::start(SendQueue& queue) {
  for (std::int64_t client = 0; client < concurrency_; ++client) send_next(SimTime{}, queue);
}

void ClosedLoopClient::on_finished(const RequestRecord& record, SendQueue& queue) {
  send_next(record.finished, queue);
}

void ClosedLoopClient::send_next(SimTime time, SendQueue& queue) {
  if (sent_ == requests_) return;
  queue.send(lengths_.request(sent_++, time));
}

}  // namespace plateau
