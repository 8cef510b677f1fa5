// SGLang's /get_server_info (newer: /server_info): arguments of the server, memory, step times.
//
// step_time_dict {batch: [seconds, ...]} is the best source of step times there is: each value is a
// mean over 40 decode steps at that batch. It exists when the server ran with
// SGLANG_RECORD_STEP_TIME=1.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "calibration/import/json_stream.h"
#include "calibration/import/measurement.h"

namespace plateau::imports {

// Takes the values of a server info that begins at depth `base` of a document.
class ServerInfo {
 public:
  explicit ServerInfo(Recorder& recorder) : recorder_(recorder) {}
  // True: the value was taken.
  bool value(const JsonPath& path, std::size_t base, const JsonValue& value, std::int64_t line);

 private:
  bool argument(const std::string& key, const JsonValue& value, std::int64_t line);
  bool state(const JsonPath& path, std::size_t at, const JsonValue& value, std::int64_t line,
             const std::string& rank);
  Recorder& recorder_;
};

}  // namespace plateau::imports
