// One clock for the files of a run.
//
// Files tell time in their own ways (Clock in calibration/import/measurement.h). The common clock
// is local date and time of the machine, in seconds:
//   local    as it stands
//   epoch    + the stated UTC offset
//   no_year  in the year of the dated files
//   run      from the start of the server's log (its first time), unless every file counts from
//            the start of the run: then all share it
//   none     one moment: the stated offset after the first time of the server's log
// and every file may be shifted by a stated offset. What is not stated is never guessed: a file
// whose time cannot be placed is an InputError that says what to state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/measurement.h"

namespace plateau::join {

struct ClockOptions {
  std::map<std::string, double> offsets;  // file -> seconds to add
  std::optional<double> utc_offset_h;     // local = UTC + this
};

class CommonClock {
 public:
  // `steps`: the file whose log the others are placed against. Only files of `used` are placed.
  CommonClock(const imports::Measurement& measurement, int steps, const std::vector<int>& used,
              const ClockOptions& options);

  // A file's time on the common clock.
  double at(int file, double seconds) const { return seconds + shift_.at(file); }

 private:
  std::map<int, double> shift_;
};

// A row's time by its file's clock.
std::optional<double> time_of(const imports::Series& series, const imports::Series::Row& row,
                              imports::Clock clock);

}  // namespace plateau::join
