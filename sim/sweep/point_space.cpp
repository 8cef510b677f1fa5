#include "sim/sweep/point_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "calibration/csv.h"
#include "models/random.h"
#include "sim/scenario/overlay.h"

namespace plateau {

namespace {

using Way = SpaceRequest::Way;

[[noreturn]] void fail(std::string key, std::string message, std::string hint = "") {
  throw InputError(
      Problem{kCommandLine, 0, 0, std::move(key), std::move(message), std::move(hint)});
}

bool samples(Way way) { return way == Way::random || way == Way::latin_hypercube; }

// A sample may leave the steps of a range to us.
std::string with_steps(const std::string& text, Way way) {
  const bool open = text.find("..") != std::string::npos && text.find(':') == std::string::npos &&
                    text.find(',') == std::string::npos;
  return samples(way) && open ? text + ":10000" : text;
}

std::vector<Variation> read_keys(const SpaceRequest& request) {
  std::vector<Variation> keys;
  std::vector<Problem> problems;
  for (const std::string& text : request.vary) {
    try {
      keys.push_back(parse_variation(with_steps(text, request.way),
                                     request.way == Way::zip ? Repeats::keep : Repeats::drop));
    } catch (const InputError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (keys[i].key == keys[j].key) {
        problems.push_back(Problem{kCommandLine, 0, 0, keys[i].key, "is varied twice",
                                   "write its values in one --vary"});
      }
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return keys;
}

double grid_size(const std::vector<Variation>& keys) {
  double size = 1;
  for (const Variation& key : keys) size *= static_cast<double>(key.values.size());
  return size;
}

}  // namespace

const char* name_of(Way way) {
  switch (way) {
    case Way::grid:
      return "grid";
    case Way::zip:
      return "zip";
    case Way::list:
      return "list";
    case Way::random:
      return "random";
    case Way::latin_hypercube:
      return "latin_hypercube";
  }
  return "?";
}

std::string count_text(double count) {
  if (count >= 9e18) return fmt::format("{:.3g}", count);
  std::string digits = std::to_string(static_cast<std::int64_t>(count));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

PointSpace::PointSpace(const SpaceRequest& request) : way_(request.way) {
  if (way_ == Way::list) {
    if (!request.vary.empty()) {
      fail("--points", "names the points; --vary cannot add to them", "leave one of the two out");
    }
    read_list(request.points_file);
    return;
  }
  keys_ = read_keys(request);
  if (keys_.empty()) {
    fail("--vary", "nothing varies", "write --vary workload.concurrency=256,512,1024");
  }
  if (samples(way_) && (request.samples < 1 || request.samples > kMostPoints)) {
    fail("--random/--lhs", fmt::format("a sample of 1 to {} points", count_text(kMostPoints)));
  }
  if (way_ == Way::zip) {
    zip();
  } else if (way_ == Way::latin_hypercube) {
    sample_latin(request);
  } else if (way_ == Way::random && grid_size(keys_) > static_cast<double>(request.samples)) {
    sample_random(request);
  } else {
    take_grid();
  }
}

void PointSpace::take_grid() {
  const double grid = grid_size(keys_);
  if (grid > static_cast<double>(kMostPoints)) {
    fail("--vary", fmt::format("a grid of {} points", count_text(grid)),
         "ask for a sample of it: --random 10000 or --lhs 10000");
  }
  way_ = Way::grid;  // a random sample at least as large as the grid is the grid
  size_ = static_cast<std::int64_t>(grid);
}

void PointSpace::zip() {
  const std::size_t size = keys_.front().values.size();
  for (const Variation& key : keys_) {
    if (key.values.size() == size) continue;
    fail(key.key,
         fmt::format("--zip pairs values, but this key has {} and {} has {}", key.values.size(),
                     keys_.front().key, size),
         "give every key as many values");
  }
  for (std::size_t i = 0; i < size; ++i) {
    rows_.emplace_back(keys_.size(), static_cast<std::int32_t>(i));
  }
  size_ = static_cast<std::int64_t>(size);
}

void PointSpace::read_list(const std::string& file) {
  const CsvTable table = CsvTable::read(file);
  for (const std::string& column : table.columns()) keys_.push_back({column, {}});
  if (table.rows() == 0 || keys_.empty())
    throw InputError(Problem{file, 0, 0, "", "holds no point", "one row a point, keys as header"});
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::vector<std::int32_t> indices;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      const std::string value(table.text(row, k));
      if (value.empty()) throw InputError(table.problem(row, k, "has no value"));
      auto& values = keys_[k].values;
      const auto at = std::find(values.begin(), values.end(), value) - values.begin();
      if (at == static_cast<std::ptrdiff_t>(values.size())) values.push_back(value);
      indices.push_back(static_cast<std::int32_t>(at));
    }
    rows_.push_back(std::move(indices));
  }
  size_ = static_cast<std::int64_t>(rows_.size());
}

void PointSpace::sample_random(const SpaceRequest& request) {
  const RandomStream stream(request.seed, "sweep/random");
  std::set<std::vector<std::int32_t>> seen;
  for (std::uint64_t draw = 0; std::ssize(rows_) < request.samples; ++draw) {
    Random random = stream.at(draw);
    std::vector<std::int32_t> row;
    for (const Variation& key : keys_) {
      row.push_back(
          static_cast<std::int32_t>(below(random, static_cast<std::uint32_t>(key.values.size()))));
    }
    if (seen.insert(row).second) rows_.push_back(std::move(row));
  }
  size_ = request.samples;
}

void PointSpace::sample_latin(const SpaceRequest& request) {
  const auto n = static_cast<std::size_t>(request.samples);
  rows_.assign(n, std::vector<std::int32_t>(keys_.size()));
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    Random random = RandomStream(request.seed, "sweep/latin").at(k);
    std::vector<std::size_t> strata(n);
    std::iota(strata.begin(), strata.end(), std::size_t{0});
    shuffle(random, strata);
    const auto values = static_cast<double>(keys_[k].values.size());
    for (std::size_t i = 0; i < n; ++i) {
      const double at =
          (static_cast<double>(strata[i]) + random.uniform()) / static_cast<double>(n);
      rows_[i][k] = static_cast<std::int32_t>(std::min(std::floor(at * values), values - 1));
    }
  }
  size_ = request.samples;
}

std::vector<std::int32_t> PointSpace::indices(std::int64_t point) const {
  if (way_ != Way::grid) return rows_[static_cast<std::size_t>(point)];
  std::vector<std::int32_t> indices(keys_.size());
  for (std::size_t k = keys_.size(); k-- > 0;) {
    const auto values = static_cast<std::int64_t>(keys_[k].values.size());
    indices[k] = static_cast<std::int32_t>(point % values);
    point /= values;
  }
  return indices;
}

std::vector<std::string> PointSpace::values(std::int64_t point) const {
  const std::vector<std::int32_t> at = indices(point);
  std::vector<std::string> values;
  for (std::size_t k = 0; k < keys_.size(); ++k)
    values.push_back(keys_[k].values[static_cast<std::size_t>(at[k])]);
  return values;
}

}  // namespace plateau
