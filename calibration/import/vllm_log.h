// vLLM server logs: start-up, engine statistics, iteration lines and speculative decoding of V1;
// the statistics of V0 are mapped (Pending = waiting) with a warning, since its scheduler is
// another one.
//
// Line form: "[(APIServer pid=1) ]INFO 03-17 15:38:10 [loggers.py:259] Engine 000: Avg prompt
// throughput: 0.0 tokens/s, ...". Messages are found wherever they stand, as lines get joined and
// prefixes vary; dates have no year. Throughputs are means over the interval (about 10 s), counts
// are of the moment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "calibration/import/line_source.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

// Position of the first vLLM message, or kNowhere; `v0` says whether only V0 writes it.
std::size_t find_vllm_message(std::string_view text, bool& v0);

class VllmLog {
 public:
  explicit VllmLog(Recorder& recorder) : recorder_(recorder) {}
  void line(const Line& line);
  void finish();

 private:
  struct Message;
  static const Message kMessages[];

  // What a message's handler works on: the text from the message to the next one.
  struct Part {
    std::string_view text;
    std::string_view before;  // the line up to the message
    std::int64_t line = 0;
    bool newline = false;  // the part ends with the line, and the line with a newline
  };

  bool engine_stats(const Part& part);
  bool iteration(const Part& part);
  bool spec_decoding(const Part& part);
  bool startup(const Part& part);
  bool preemption(const Part& part);
  void time(Series& series, const Part& part);
  void check_pool();
  void warn_of_another_pool(const Fact& first, const Fact& other);
  void compare_concurrency(double pool, double length, const Fact& concurrency);
  void derive_pool_of_blocks();

  Recorder& recorder_;
  ClockWatch clock_;
  std::set<double> engines_;
  std::optional<std::int64_t> v0_line_;
  bool v1_ = false;
  bool iterations_ = false;
};

}  // namespace plateau::imports
