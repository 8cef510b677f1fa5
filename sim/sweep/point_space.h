// The points of a sweep: which values its keys take together, in a fixed order.
//
//   grid             every combination; the first key varies slowest
//   zip              the i-th values of all keys together; all keys have as many
//   list             the rows of a CSV file whose header names the keys
//   random           `samples` different combinations, each as likely as any other
//   latin_hypercube  `samples` points; each key's range is cut into that many strata and every
//                    stratum is met once (McKay, Beckman and Conover 1979), paired at random
//
// A grid is never written out: point i is computed from i. Random and Latin hypercube draw from the
// values of the keys, so a key may hold 10^3 of them and the grid 10^9; there, `lo..hi` without
// steps means 10,000 values evenly spaced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/ranges.h"

namespace plateau {

struct SpaceRequest {
  enum class Way : std::uint8_t { grid, zip, list, random, latin_hypercube };
  Way way = Way::grid;
  std::vector<std::string> vary;  // "key=values", as on the command line
  std::string points_file;        // list
  std::int64_t samples = 0;       // random, latin_hypercube
  std::uint64_t seed = 1;         // of the sample
};

const char* name_of(SpaceRequest::Way way);

class PointSpace {
 public:
  static constexpr std::int64_t kMostPoints = 1'000'000;

  // Throws InputError; a space of more than kMostPoints says how many and asks for a sample.
  explicit PointSpace(const SpaceRequest& request);

  std::int64_t size() const { return size_; }
  const std::vector<Variation>& keys() const { return keys_; }
  SpaceRequest::Way way() const { return way_; }
  // Indices into keys()[k].values.
  std::vector<std::int32_t> indices(std::int64_t point) const;
  std::vector<std::string> values(std::int64_t point) const;  // one per key

 private:
  void read_list(const std::string& file);
  void take_grid();
  void zip();
  void sample_random(const SpaceRequest& request);
  void sample_latin(const SpaceRequest& request);

  SpaceRequest::Way way_;
  std::vector<Variation> keys_;
  std::int64_t size_ = 0;
  std::vector<std::vector<std::int32_t>> rows_;  // all ways but the grid
};

// "1,000,000,000", for messages; a count beyond 2^63 as "1.2e25".
std::string count_text(double count);

}  // namespace plateau
