#include "calibration/config_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>

#include "calibration/csv.h"

namespace plateau {

namespace {

using Kind = ConfigNode::Kind;

const ConfigNode kEmptyMap = [] {
  ConfigNode node;
  node.kind = Kind::map;
  return node;
}();

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return "`" + std::string(text) + "`";
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "`" + std::string(text.substr(0, end)) + "...`";
}

std::string shown(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::array<char, 40> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return std::string(digits.data(), result.ptr);
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string joined(const std::string& path, std::string_view key) {
  if (path.empty() || key.empty()) return path + std::string(key);
  return path + "." + std::string(key);
}

std::string kind_of(const ConfigNode& node) {
  return node.kind == Kind::map ? "a map" : node.kind == Kind::list ? "a list" : "a single value";
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = closest(word, names);
  return near.empty() ? "one of: " + join(names) : "did you mean `" + near + "`?";
}

// What went wrong with one value: an empty message means nothing.
struct Complaint {
  std::string message;
  std::string hint;
};

bool is_whole_number_too_long(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return text.size() > 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string shown(std::int64_t value) { return std::to_string(value); }
std::string shown(int value) { return std::to_string(value); }

template <class T>
Complaint out_of_range(std::string_view text, Limits<T> limits) {
  return {shown(text) + " is outside the range " + shown(limits.low) + " to " + shown(limits.high),
          ""};
}

// A number followed by a word: the user gave a count a unit.
bool has_unit(std::string_view text) {
  const std::size_t word = text.find_first_not_of("+-.0123456789 ");
  return word != std::string_view::npos && word > 0 &&
         parse_number(text.substr(0, text.find_first_of(" ")));
}

template <class T>
Complaint parse_whole(std::string_view text, Limits<T> limits, T* out) {
  const auto value = parse_integer(text);
  if (!value && is_whole_number_too_long(text)) return out_of_range(text, limits);
  if (!value) {
    const auto number = parse_number(text);
    if (number && *number == std::floor(*number) && std::abs(*number) < 1e15) {
      return {shown(text) + " is not written as a whole number",
              "write " + std::to_string(static_cast<std::int64_t>(*number))};
    }
    return {shown(text) + " is not a whole number", has_unit(text) ? "a count takes no unit" : ""};
  }
  if (*value < limits.low || *value > limits.high) return out_of_range(text, limits);
  *out = static_cast<T>(*value);
  return {};
}

Complaint parse(std::string_view text, Limits<int> limits, int* out) {
  return parse_whole(text, limits, out);
}

Complaint parse(std::string_view text, Limits<std::int64_t> limits, std::int64_t* out) {
  return parse_whole(text, limits, out);
}

Complaint parse(std::string_view text, Limits<double> limits, double* out) {
  const auto value = parse_number(text);
  if (!value) {
    return {shown(text) + " is not a number", has_unit(text) ? "this number takes no unit" : ""};
  }
  if (*value < limits.low || *value > limits.high) return out_of_range(text, limits);
  *out = *value;
  return {};
}

Complaint parse(std::string_view text, Limits<bool>, bool* out) {
  if (text != "true" && text != "false") {
    return {shown(text) + " is neither true nor false", "write true or false"};
  }
  *out = text == "true";
  return {};
}

Complaint parse(std::string_view text, const Limits<std::string>&, std::string* out) {
  if (text.empty()) return {"is empty text", "write a value, or leave the key out"};
  *out = std::string(text);
  return {};
}

}  // namespace

struct ConfigReader::Map {
  const ConfigNode* node = nullptr;   // the map itself
  const ConfigNode* place = nullptr;  // where to complain about something missing
  std::string path;
  std::set<std::string> known;
};

struct ConfigReader::Document {
  ConfigNode root;
  std::vector<std::unique_ptr<Map>> maps;
  std::map<std::string, Map*> by_path;
  std::vector<Problem> problems;
};

ConfigReader::ConfigReader(ConfigNode root)
    : document_(std::make_shared<Document>()), map_(nullptr) {
  document_->root = std::move(root);
  map_ = reader_of(&document_->root, document_->root, "").map_;
}

ConfigReader ConfigReader::reader_of(const ConfigNode* node, const ConfigNode& place,
                                     std::string path) {
  if (const auto found = document_->by_path.find(path); found != document_->by_path.end()) {
    return ConfigReader(document_, found->second);
  }
  if (node != nullptr && node->kind != Kind::map) {
    if (node->kind != Kind::null) {
      document_->problems.push_back(node->problem(path,
                                                  "is " + kind_of(*node) + " where a map is due",
                                                  "write `key: value` lines, indented"));
    }
    node = nullptr;
  }
  auto map = std::make_unique<Map>();
  map->node = node != nullptr ? node : &kEmptyMap;
  map->place = node != nullptr ? node : &place;
  map->path = std::move(path);
  document_->by_path.emplace(map->path, map.get());
  document_->maps.push_back(std::move(map));
  return ConfigReader(document_, document_->maps.back().get());
}

std::string ConfigReader::path_of(std::string_view key) const { return joined(map_->path, key); }

bool ConfigReader::has(std::string_view key) const {
  const ConfigNode* node = map_->node->find(key);
  return node != nullptr && node->kind != Kind::null;
}

bool ConfigReader::taken_away(std::string_view key) const {
  const ConfigNode* node = map_->node->find(key);
  return node != nullptr && node->kind == Kind::null;
}

const ConfigNode* ConfigReader::value(std::string_view key) {
  map_->known.emplace(key);
  return has(key) ? map_->node->find(key) : nullptr;
}

const ConfigNode* ConfigReader::raw(std::string_view key) { return value(key); }

std::vector<std::string> ConfigReader::known_paths() const {
  std::vector<std::string> paths;
  for (const auto& map : document_->maps) {
    for (const std::string& key : map->known) paths.push_back(joined(map->path, key));
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

void ConfigReader::add(Problem problem) { document_->problems.push_back(std::move(problem)); }

std::size_t ConfigReader::problem_count() const { return document_->problems.size(); }

void ConfigReader::complain(std::string_view key, std::string message, std::string hint) {
  const ConfigNode* node = map_->node->find(key);
  const ConfigNode& place = node != nullptr ? *node : *map_->place;
  add(place.problem(path_of(key), std::move(message), std::move(hint)));
}

template <class T>
std::optional<T> ConfigReader::convert(const ConfigNode& node, const std::string& path,
                                       Limits<T> limits) {
  T result{};
  Complaint complaint;
  if (node.kind != Kind::scalar) {
    complaint.message = "is " + std::string(node.kind == Kind::null ? "empty" : kind_of(node)) +
                        " where a single value is due";
  } else if (node.quoted && !std::is_same_v<T, std::string>) {
    complaint = {shown(node.text) + " is text in quotes where a number or true/false is due",
                 "remove the quotes"};
  } else {
    complaint = parse(node.text, limits, &result);
  }
  if (complaint.message.empty()) return result;
  add(node.problem(path, std::move(complaint.message), std::move(complaint.hint)));
  return std::nullopt;
}

template <class T>
std::optional<T> ConfigReader::optional(std::string_view key, Limits<T> limits) {
  const ConfigNode* node = value(key);
  return node != nullptr ? convert<T>(*node, path_of(key), limits) : std::nullopt;
}

template <class T>
T ConfigReader::required(std::string_view key, Limits<T> limits) {
  if (value(key) == nullptr) complain(key, "is missing");
  return optional<T>(key, limits).value_or(T{});
}

template <class T>
std::optional<std::vector<T>> ConfigReader::list(std::string_view key, Limits<T> limits) {
  const ConfigNode* node = value(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != Kind::list) {
    complain(key, "is " + kind_of(*node) + " where a list is due", "write [a, b, c]");
    return std::nullopt;
  }
  std::vector<T> result;
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    const auto item =
        convert<T>(node->children[i], path_of(key) + "[" + std::to_string(i) + "]", limits);
    if (!item) return std::nullopt;
    result.push_back(*item);
  }
  return result;
}

std::optional<double> ConfigReader::quantity(std::string_view key, Dimension dimension,
                                             Limits<double> limits) {
  const ConfigNode* node = value(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != Kind::scalar) {
    complain(key, "is " + kind_of(*node) + " where a number with a unit is due");
    return std::nullopt;
  }
  Quantity quantity = parse_quantity(node->text, dimension);
  if (quantity.error.empty() && (quantity.value < limits.low || quantity.value > limits.high)) {
    quantity.error = shown(node->text) + " is outside the range " +
                     format_quantity(limits.low, dimension) + " to " +
                     format_quantity(limits.high, dimension);
  }
  if (quantity.error.empty()) return quantity.value;
  complain(key, quantity.error, quantity.hint);
  return std::nullopt;
}

double ConfigReader::required_quantity(std::string_view key, Dimension dimension,
                                       Limits<double> limits) {
  if (value(key) == nullptr) complain(key, "is missing");
  return quantity(key, dimension, limits).value_or(0);
}

std::optional<std::int64_t> ConfigReader::tokens(std::string_view key, Limits<std::int64_t> limits,
                                                 TokenUnit unit) {
  const ConfigNode* node = value(key);
  if (node == nullptr) return std::nullopt;
  const bool bare = node->kind == Kind::scalar &&
                    (parse_integer(node->text) || is_whole_number_too_long(node->text));
  if (bare && unit == TokenUnit::optional)
    return convert<std::int64_t>(*node, path_of(key), limits);
  const auto value = quantity(key, Dimension::tokens,
                              {static_cast<double>(limits.low), static_cast<double>(limits.high)});
  if (!value) return std::nullopt;
  if (*value != std::floor(*value)) {
    complain(key, shown(node->text) + " is not a whole number of tokens");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<std::size_t> ConfigReader::choose(std::string_view key,
                                                const std::vector<std::string>& names) {
  const auto text = optional<std::string>(key);
  if (!text) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string near = closest(*text, names);
  complain(key, shown(*text) + " is not one of " + join(names),
           near.empty() ? "" : "did you mean `" + near + "`?");
  return std::nullopt;
}

ConfigReader ConfigReader::section(std::string_view key) {
  return reader_of(value(key), *map_->place, path_of(key));
}

std::vector<ConfigReader> ConfigReader::sections(std::string_view key) {
  const ConfigNode* node = value(key);
  std::vector<ConfigReader> result;
  if (node == nullptr) return result;
  if (node->kind != Kind::list) {
    complain(key, "is " + kind_of(*node) + " where a list of maps is due");
    return result;
  }
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    result.push_back(reader_of(&node->children[i], node->children[i],
                               path_of(key) + "[" + std::to_string(i) + "]"));
  }
  return result;
}

void ConfigReader::check_unknown(const Map& map) {
  const std::vector<std::string> known(map.known.begin(), map.known.end());
  for (std::size_t i = 0; i < map.node->keys.size(); ++i) {
    const std::string& key = map.node->keys[i];
    if (map.known.count(key) > 0) continue;
    Problem problem = map.node->children[i].problem(joined(map.path, key), "unknown key",
                                                    did_you_mean(key, known));
    if (map.node->children[i].key_line > 0) {
      problem.line = map.node->children[i].key_line;
      problem.column = map.node->children[i].key_column;
    }
    add(std::move(problem));
  }
}

void ConfigReader::finish(UnknownKeys unknown) {
  if (unknown == UnknownKeys::refuse) {
    for (const auto& map : document_->maps) check_unknown(*map);
  }
  if (document_->problems.empty()) return;
  // In reading order, which is the order a person fixes them in; files in order of appearance.
  std::vector<std::string> files;
  for (const Problem& problem : document_->problems) {
    if (std::find(files.begin(), files.end(), problem.file) == files.end())
      files.push_back(problem.file);
  }
  const auto rank = [&](const Problem& p) {
    return std::find(files.begin(), files.end(), p.file) - files.begin();
  };
  std::stable_sort(document_->problems.begin(), document_->problems.end(),
                   [&](const Problem& a, const Problem& b) {
                     return std::make_tuple(rank(a), a.line, a.column) <
                            std::make_tuple(rank(b), b.line, b.column);
                   });
  throw InputError(std::move(document_->problems));
}

template std::optional<std::string> ConfigReader::optional(std::string_view, Limits<std::string>);
template std::optional<bool> ConfigReader::optional(std::string_view, Limits<bool>);
template std::optional<int> ConfigReader::optional(std::string_view, Limits<int>);
template std::optional<std::int64_t> ConfigReader::optional(std::string_view, Limits<std::int64_t>);
template std::optional<double> ConfigReader::optional(std::string_view, Limits<double>);
template std::string ConfigReader::required(std::string_view, Limits<std::string>);
template bool ConfigReader::required(std::string_view, Limits<bool>);
template int ConfigReader::required(std::string_view, Limits<int>);
template std::int64_t ConfigReader::required(std::string_view, Limits<std::int64_t>);
template double ConfigReader::required(std::string_view, Limits<double>);
template std::optional<std::vector<std::string>> ConfigReader::list(std::string_view,
                                                                    Limits<std::string>);
template std::optional<std::vector<int>> ConfigReader::list(std::string_view, Limits<int>);
template std::optional<std::vector<std::int64_t>> ConfigReader::list(std::string_view,
                                                                     Limits<std::int64_t>);
template std::optional<std::vector<double>> ConfigReader::list(std::string_view, Limits<double>);

}  // namespace plateau
