// Typed reading of a ConfigNode: the one way in which scenarios, model specs and profile meta are
// read, so that all of them speak of errors in the same words.
//
// A reader remembers which keys it was asked for. finish() complains about every other key ("did
// you mean") together with everything else that went wrong; until then a bad or missing value reads
// as nothing or as T{}. A key whose value is null (`key: ~`) counts as absent.
//
//   ConfigReader reader(read_yaml_file(path));
//   const int layers = reader.required<int>("layers", {1, 1000});
//   ConfigReader hardware = reader.section("hardware");
//   const auto watts = hardware.quantity("power_limit", Dimension::power, {1, 10000});
//   reader.finish();
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/config_node.h"
#include "calibration/units.h"

namespace plateau {

template <class T>
struct Limits {
  T low;
  T high;
};

template <class T>
constexpr Limits<T> any_value() {
  if constexpr (std::numeric_limits<T>::is_specialized) {
    return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  } else {
    return {};
  }
}

class ConfigReader {
 public:
  explicit ConfigReader(ConfigNode root);

  // T is std::string, bool, int, std::int64_t or double. Counts take no unit.
  template <class T>
  std::optional<T> optional(std::string_view key, Limits<T> limits = any_value<T>());
  template <class T>
  T required(std::string_view key, Limits<T> limits = any_value<T>());
  template <class T>
  std::optional<std::vector<T>> list(std::string_view key, Limits<T> limits = any_value<T>());

  // A number with a unit, in base units (calibration/units.h).
  std::optional<double> quantity(std::string_view key, Dimension dimension, Limits<double> limits);
  double required_quantity(std::string_view key, Dimension dimension, Limits<double> limits);
  // Whole tokens. An engine's own flag takes them bare as the engine does, with or without the
  // unit.
  enum class TokenUnit : std::uint8_t { required, optional };
  std::optional<std::int64_t> tokens(std::string_view key, Limits<std::int64_t> limits,
                                     TokenUnit unit);

  template <class E>
  using Choices = std::vector<std::pair<std::string, E>>;
  template <class E>
  std::optional<E> one_of(std::string_view key, const Choices<E>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    const auto index = choose(key, names);
    return index ? std::optional<E>(choices[*index].second) : std::nullopt;
  }
  // The index of the value in `names`.
  std::optional<std::size_t> choose(std::string_view key, const std::vector<std::string>& names);

  // A nested map; asked for twice, it is the same one. One that is absent reads as an empty map;
  // its required keys are then missing at this map's place.
  ConfigReader section(std::string_view key);
  // A list of maps, one reader each.
  std::vector<ConfigReader> sections(std::string_view key);
  // The value as it stands, nullptr when absent; what is inside is nobody's complaint.
  const ConfigNode* raw(std::string_view key);
  bool has(std::string_view key) const;
  bool taken_away(std::string_view key) const;  // written as ~

  // A problem with the value of `key`, or with this map when there is none.
  void complain(std::string_view key, std::string message, std::string hint = "");
  void add(Problem problem);
  std::size_t problem_count() const;
  std::string path_of(std::string_view key) const;  // "workload.concurrency"

  // Every key asked for so far in the whole document, sorted: what a schema is checked against.
  std::vector<std::string> known_paths() const;

  // Throws InputError with all problems of this document, its unknown keys included unless the
  // document is someone else's format (a downloaded config.json), of which we read a part.
  enum class UnknownKeys : std::uint8_t { refuse, allow };
  void finish(UnknownKeys unknown = UnknownKeys::refuse);

 private:
  struct Map;
  struct Document;
  ConfigReader(std::shared_ptr<Document> document, Map* map)
      : document_(std::move(document)), map_(map) {}

  const ConfigNode* value(std::string_view key);  // remembers the key
  ConfigReader reader_of(const ConfigNode* node, const ConfigNode& place, std::string path);
  template <class T>
  std::optional<T> convert(const ConfigNode& node, const std::string& path, Limits<T> limits);
  void check_unknown(const Map& map);

  std::shared_ptr<Document> document_;
  Map* map_;
};

}  // namespace plateau
