// PyTorch profiler (Kineto) Chrome traces: the kernels, copies and fills of the GPU, one row each.
//
// ts and dur are microseconds; the absolute time is baseTimeNanoseconds + ts * 1000. Everything
// else in such a file (operators, Python frames, flows) is passed over. Memory is bounded by the
// rows' own store.
#include <array>

#include "calibration/import/formats.h"
#include "calibration/import/gpu_events.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

constexpr const char* kArguments[][2] = {
    {"device", "device"},
    {"stream", "stream"},
    {"correlation", "correlation"},
    {"bytes", "bytes"},
    {"memory bandwidth (GB/s)", "bandwidth_gb_per_s"},
    {"registers per thread", "registers_per_thread"},
    {"shared memory", "shared_memory_bytes"},
};

class Visitor : public JsonVisitor {
 public:
  explicit Visitor(Recorder& recorder)
      : recorder_(recorder), series_(recorder.series("gpu_events")) {
    start_ = series_.column("start_us");
    duration_ = series_.column("duration_us");
    name_ = series_.column("name", true);
    class_ = series_.column("class", true);
  }

  void value(const JsonPath& path, const JsonValue& value, std::int64_t line) override {
    const std::size_t base = base_of(path);
    if (base == 0) return top(path, value, line);
    const std::size_t depth = path.depth() - base;
    const std::string& key = path[base].key;
    if (depth == 1) return field(key, value);
    if (key != "args") return;
    if (depth == 2 && value.is_number()) return argument(path[base + 1].key, value.number);
    if (depth == 3 && value.is_number())
      return shape(path[base + 1].key, path[base + 2].index, value.number);
  }

  void close(const JsonPath& path, bool array, std::int64_t line) override {
    if (array || path.depth() == 0 || base_of(path) != path.depth()) return;
    event(line);
    reset();
  }

  void finish() {
    shares_.finish(recorder_);
    if (passed_ > 0) recorder_.ignore("events that are not GPU work", first_passed_, passed_);
    if (!devices_.empty()) recorder_.report().gpus = static_cast<int>(devices_.size());
  }

 private:
  // How deep the path to an event is: traceEvents[i], or [i] in a bare array; 0: not in an event.
  static std::size_t base_of(const JsonPath& path) {
    if (path.depth() >= 1 && path[0].array) return 1;
    if (path.depth() >= 2 && path[0].key == "traceEvents" && path[1].array) return 2;
    return 0;
  }

  void top(const JsonPath& path, const JsonValue& value, std::int64_t line) {
    const std::string text = path.text();
    if (text == "baseTimeNanoseconds" && value.is_number()) {
      recorder_.fact("base_time_ns", value.number, line);
    } else if (text == "deviceProperties[0].name" && value.is_text()) {
      recorder_.fact_text("gpu_name", value.text, line);
    } else if (text == "deviceProperties[0].numSms" && value.is_number()) {
      recorder_.fact("gpu_sms", value.number, line);
    } else if (text == "deviceProperties[0].totalGlobalMem" && value.is_number()) {
      recorder_.fact("gpu_memory_bytes", value.number, line);
    } else if (text == "distributedInfo.rank" && value.is_number()) {
      recorder_.fact("rank", value.number, line);
    } else if (text == "distributedInfo.world_size" && value.is_number()) {
      recorder_.fact("world_size", value.number, line);
    }
  }

  void field(const std::string& key, const JsonValue& value) {
    if (value.is_text()) {
      if (key == "ph") phase_ = value.text;
      if (key == "cat") category_ = value.text;
      if (key == "name") event_name_ = value.text;
    } else if (value.is_number()) {
      if (key == "ts") ts_ = value.number;
      if (key == "dur") dur_ = value.number;
    }
  }

  void argument(const std::string& key, double number) {
    for (std::size_t i = 0; i < std::size(kArguments); ++i) {
      if (key == kArguments[i][0]) arguments_[i] = number;
    }
  }

  // grid [x, y, z] and block [x, y, z] as products: thread blocks and threads per block.
  void shape(const std::string& key, std::int64_t index, double number) {
    if (index > 2) return;
    if (key == "grid") grid_ = grid_.value_or(1) * number;
    if (key == "block") block_ = block_.value_or(1) * number;
  }

  void event(std::int64_t line) {
    const std::string category = lower(category_);
    const bool copy = category == "gpu_memcpy" || category == "gpu_memset" || category == "memcpy";
    if (phase_ != "X" || (category != "kernel" && !copy) || event_name_.empty() || !ts_ || !dur_) {
      if (passed_++ == 0) first_passed_ = line;
      return;
    }
    series_.begin_row(recorder_.file(), line);
    series_.set(start_, *ts_);
    series_.set(duration_, *dur_);
    series_.set_word(name_, event_name_);
    series_.set_word(class_, name_of(shares_.add(event_name_, *dur_)));
    for (std::size_t i = 0; i < std::size(kArguments); ++i) {
      if (arguments_[i]) series_.set(series_.column(kArguments[i][1]), *arguments_[i]);
    }
    if (grid_) series_.set(series_.column("grid_blocks"), *grid_);
    if (block_) series_.set(series_.column("block_threads"), *block_);
    series_.end_row();
    recorder_.row();
    recorder_.time(Clock::run, *ts_ / 1e6);
    if (arguments_[0]) ++devices_[*arguments_[0]];
  }

  void reset() {
    phase_.clear();
    category_.clear();
    event_name_.clear();
    ts_.reset();
    dur_.reset();
    grid_.reset();
    block_.reset();
    arguments_.fill(std::nullopt);
  }

  Recorder& recorder_;
  Series& series_;
  std::size_t start_ = 0;
  std::size_t duration_ = 0;
  std::size_t name_ = 0;
  std::size_t class_ = 0;
  ClassShares shares_;
  std::string phase_;
  std::string category_;
  std::string event_name_;
  std::optional<double> ts_;
  std::optional<double> dur_;
  std::optional<double> grid_;
  std::optional<double> block_;
  std::array<std::optional<double>, std::size(kArguments)> arguments_;
  std::map<double, std::int64_t> devices_;
  std::int64_t passed_ = 0;
  std::int64_t first_passed_ = 0;
};

}  // namespace

void import_kineto(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "Kineto Chrome trace";
  JsonStream stream(bytes, false);
  Visitor visitor(recorder);
  const JsonEnd end = stream.next(visitor);
  if (end == JsonEnd::broken) {
    recorder.fail(stream.line(), "is not JSON: " + stream.error(),
                  "give the trace as it was written");
  }
  if (end == JsonEnd::cut) {
    recorder.warn(stream.line(), "the trace ends inside an event: the events before it are taken");
  }
  visitor.finish();
}

}  // namespace plateau::imports
