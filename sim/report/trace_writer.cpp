#include "sim/report/trace_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/input_error.h"

namespace plateau {

namespace {

constexpr std::size_t kBuffer = 1 << 16;
constexpr std::size_t kRememberedPrefills = 100'000;
constexpr int kEngine = 1;  // process ids
constexpr int kRequests = 2;

// Parts in the order in which a layer meets them; idle is no part of a step.
constexpr Part kOrder[] = {Part::launch,  Part::norm_etc,   Part::attention,  Part::dense_gemm,
                           Part::moe,     Part::all_to_all, Part::all_reduce, Part::wait,
                           Part::lm_head, Part::host};

std::string microseconds(SimTime time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

const char* kind_of(const StepShape& shape) {
  if (shape.prefill_tokens <= 0) return "decode";
  return shape.decode_sequences > 0 ? "mixed" : "prefill";
}

// Bytes on their way to a temporary file beside the one that is asked for.
class TraceFile {
 public:
  explicit TraceFile(std::string path)
      : path_(std::move(path)),
        temporary_(path_ + "." + std::to_string(getpid()) + ".tmp"),
        file_(std::fopen(temporary_.c_str(), "wb")) {
    if (file_ == nullptr) fail();
  }
  ~TraceFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(temporary_.c_str());
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  std::string& buffer() { return buffer_; }
  void flush_when_full() {
    if (buffer_.size() >= kBuffer) flush();
  }
  void close() {
    flush();
    std::FILE* file = file_;
    file_ = nullptr;
    const bool closed = std::fclose(file) == 0;
    if (closed && std::rename(temporary_.c_str(), path_.c_str()) == 0) return;
    const int reason = errno;
    std::remove(temporary_.c_str());
    errno = reason;
    fail();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) fail();
    buffer_.clear();
  }
  [[noreturn]] void fail() const {
    throw InputError(
        Problem{path_, 0, 0, "", std::string("cannot be written: ") + std::strerror(errno), ""});
  }

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  std::FILE* file_;
};

struct Prefill {
  SimTime token{};  // when its requests' first tokens reached the clients
  SimTime start{};
  SimTime end{};
};

}  // namespace

struct TraceWriter::State {
  explicit State(const TraceOptions& given) : options(given), file(given.path) {
    file.buffer() = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    name_process(kEngine, options.title.empty() ? "engine" : options.title);
    name_process(kRequests, "requests");
    event(R"({{"ph":"M","pid":{},"tid":1,"name":"thread_name","args":{{"name":"steps"}}}})",
          kEngine);
  }

  template <typename... Values>
  void event(fmt::format_string<Values...> text, Values&&... values) {
    if (!first) file.buffer() += ",\n";
    first = false;
    fmt::format_to(std::back_inserter(file.buffer()), text, std::forward<Values>(values)...);
    file.flush_when_full();
  }

  void name_process(int process, const std::string& name) {
    event(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process,
          nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }

  void slice(const char* name, SimTime start, SimTime end, const std::string& args) {
    event(R"({{"ph":"X","pid":{},"tid":1,"ts":{},"dur":{},"name":"{}","args":{{{}}}}})", kEngine,
          microseconds(start), microseconds(end - start), name, args);
  }

  void counter(const char* name, SimTime time, double value, double& last) {
    if (value == last) return;
    last = value;
    event(R"({{"ph":"C","pid":{},"ts":{},"name":"{}","args":{{"value":{}}}}})", kEngine,
          microseconds(time), name, value);
  }

  void parts(const StepRecord& step);
  void counters(const StepRecord& step);
  void async(char phase, std::int64_t request, const char* name, SimTime time,
             const std::string& args = "");
  const Prefill* prefill_of(SimTime first_token) const;

  TraceOptions options;
  TraceFile file;
  bool first = true;
  std::int64_t steps = 0;
  std::int64_t requests = 0;
  std::int64_t requests_drawn = 0;
  std::int64_t requests_without_prefill = 0;
  Prefill last_prefill;
  std::deque<Prefill> prefills;  // ascending in token
  double running = -1, queued = -1, kv = -1, watts = -1;
};

// In integer nanoseconds: rounded at the joints, so that the parts fill their step exactly.
void TraceWriter::State::parts(const StepRecord& step) {
  const StepCost& cost = *step.cost;
  const auto length = static_cast<double>((step.end - step.start).count());
  double seconds = 0;
  SimTime at = step.start;
  for (const Part part : kOrder) {
    const PartCost& piece = cost[part];
    if (piece.seconds <= 0) continue;
    seconds += piece.seconds;
    const SimTime end = std::min(
        step.end,
        step.start + SimTime(static_cast<std::int64_t>(length * (seconds / cost.seconds) + 0.5)));
    slice(name_of(part), at, end, fmt::format(R"("gpu_w":{:.1f})", piece.joules / piece.seconds));
    at = end;
  }
}

void TraceWriter::State::counters(const StepRecord& step) {
  const SimTime gap = step.start - step.host_gap;
  if (step.idle.count() > 0) counter("gpu_w", gap - step.idle, options.idle_w, watts);
  if (step.host_gap.count() > 0) counter("gpu_w", gap, options.host_gap_w, watts);
  if (step.cost->seconds > 0)
    counter("gpu_w", step.start, std::round(10 * step.cost->joules / step.cost->seconds) / 10,
            watts);
  counter("running", step.start, static_cast<double>(step.running), running);
  counter("queued", step.start, static_cast<double>(step.queued), queued);
  counter("kv_used_tokens", step.start, static_cast<double>(step.kv_used_tokens), kv);
}

void TraceWriter::State::async(char phase, std::int64_t request, const char* name, SimTime time,
                               const std::string& args) {
  event(
      R"({{"ph":"{}","cat":"request","id":"{}","pid":{},"tid":1,"ts":{},"name":"{}","args":{{{}}}}})",
      phase, request, kRequests, microseconds(time), name, args);
}

const Prefill* TraceWriter::State::prefill_of(SimTime first_token) const {
  const auto found =
      std::lower_bound(prefills.begin(), prefills.end(), first_token,
                       [](const Prefill& prefill, SimTime time) { return prefill.token < time; });
  return found != prefills.end() && found->token == first_token ? &*found : nullptr;
}

TraceWriter::TraceWriter(const TraceOptions& options) : state_(std::make_unique<State>(options)) {}

TraceWriter::~TraceWriter() = default;

void TraceWriter::on_step(const StepRecord& step) {
  const StepShape& shape = *step.shape;
  if (shape.prefill_tokens > 0) state_->last_prefill = {step.end, step.start, step.end};
  if (step.new_requests > 0 && state_->last_prefill.end > SimTime{} &&
      state_->requests_drawn < state_->options.requests) {
    state_->prefills.push_back({step.end, state_->last_prefill.start, state_->last_prefill.end});
    if (state_->prefills.size() > kRememberedPrefills) state_->prefills.pop_front();
  }
  if (++state_->steps > state_->options.steps) return;
  if (step.host_gap.count() > 0)
    state_->slice("host gap", step.start - step.host_gap, step.start,
                  fmt::format(R"("gpu_w":{:.1f})", state_->options.host_gap_w));
  state_->slice(kind_of(shape), step.start, step.end,
                fmt::format(R"("decode_sequences":{},"decode_context_tokens":{},)"
                            R"("prefill_sequences":{},"prefill_tokens":{},"graph":{})",
                            shape.decode_sequences, shape.decode_context_tokens,
                            shape.prefill_sequences, shape.prefill_tokens, shape.graph));
  state_->parts(step);
  state_->counters(step);
}

void TraceWriter::on_request_finished(const RequestRecord& request) {
  ++state_->requests;
  if (request.id >= state_->options.requests) return;
  ++state_->requests_drawn;
  const Prefill* prefill = state_->prefill_of(request.first_token);
  state_->async('b', request.id, "request", request.sent,
                fmt::format(R"("input_tokens":{},"output_tokens":{},"retractions":{})",
                            request.input_tokens, request.output_tokens, request.retractions));
  if (prefill == nullptr) ++state_->requests_without_prefill;
  const SimTime start =
      prefill == nullptr ? request.first_token : std::max(request.sent, prefill->start);
  const SimTime end = prefill == nullptr ? request.first_token : std::max(start, prefill->end);
  state_->async('b', request.id, "queued", request.sent);
  state_->async('e', request.id, "queued", start);
  if (prefill != nullptr) {
    state_->async('b', request.id, "prefill", start);
    state_->async('e', request.id, "prefill", end);
  }
  state_->async('b', request.id, "decode", end);
  state_->async('e', request.id, "decode", request.finished);
  state_->async('e', request.id, "request", request.finished);
}

void TraceWriter::on_retraction(const RetractionRecord& retraction) {
  if (state_->steps > state_->options.steps) return;
  state_->event(
      R"({{"ph":"i","s":"p","pid":{},"tid":1,"ts":{},"name":"retraction","args":{{"requests":{},"recompute_tokens":{}}}}})",
      kEngine, microseconds(retraction.time), retraction.requests, retraction.recompute_tokens);
}

void TraceWriter::close() {
  State& state = *state_;
  fmt::format_to(std::back_inserter(state.file.buffer()),
                 "\n],\"otherData\":{{\"steps\":{},\"steps_drawn\":{},\"requests\":{},"
                 "\"requests_drawn\":{},\"requests_without_prefill_slice\":{}}}}}\n",
                 state.steps, std::min(state.steps, state.options.steps), state.requests,
                 state.requests_drawn, state.requests_without_prefill);
  state.file.close();
}

}  // namespace plateau
