#include "sim/scenario/overlay.h"

#include <algorithm>
#include <filesystem>

#include "calibration/csv.h"

namespace plateau {

namespace {

namespace fs = std::filesystem;
using Kind = ConfigNode::Kind;

constexpr std::size_t kMostBases = 16;

void remove_key(ConfigNode* map, const std::string& key) {
  const auto found = std::find(map->keys.begin(), map->keys.end(), key);
  if (found == map->keys.end()) return;
  map->children.erase(map->children.begin() + (found - map->keys.begin()));
  map->keys.erase(found);
}

ConfigNode* child_of(ConfigNode* map, const std::string& key) {
  const auto found = std::find(map->keys.begin(), map->keys.end(), key);
  return found == map->keys.end()
             ? nullptr
             : &map->children[static_cast<std::size_t>(found - map->keys.begin())];
}

std::string identity_of(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

// `chain` holds the identities of the files being read, outermost first.
ConfigNode read_chain(const std::string& path, std::vector<std::string>* chain) {
  ConfigNode node = read_yaml_file(path);
  if (node.kind != Kind::map) {
    throw InputError(node.problem(
        "", node.kind == Kind::null ? "the file is empty" : "the file is not a map of keys",
        "write `key: value` lines"));
  }
  const ConfigNode* base = node.find("base");
  if (base == nullptr) return node;
  if (base->kind == Kind::null) {
    remove_key(&node, "base");
    return node;
  }
  if (base->kind != Kind::scalar)
    throw InputError(base->problem("base", "is not the name of a file"));
  const std::string base_path = path_from(*base, base->text);
  chain->push_back(identity_of(path));
  const Problem cycle = base->problem("base", "`" + base->text + "` inherits from this file again",
                                      "break the circle");
  if (std::find(chain->begin(), chain->end(), identity_of(base_path)) != chain->end())
    throw InputError(cycle);
  if (chain->size() > kMostBases) {
    throw InputError(base->problem(
        "base", "more than " + std::to_string(kMostBases) + " files inherit from each other"));
  }
  if (!fs::is_regular_file(base_path)) {
    throw InputError(base->problem("base", "there is no file `" + base_path + "`",
                                   "the path is relative to the file that names it"));
  }
  ConfigNode under = read_chain(base_path, chain);
  remove_key(&node, "base");
  remove_key(&under, "measured");
  return merged(std::move(under), std::move(node));
}

void mark_origin(ConfigNode* node) {
  node->file = kCommandLine;
  node->line = node->column = node->key_line = node->key_column = 0;
  for (ConfigNode& child : node->children) mark_origin(&child);
}

std::vector<std::string> split_key(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t dot = text.find('.', start);
    parts.push_back(text.substr(start, dot - start));
    if (dot == std::string::npos) return parts;
    start = dot + 1;
  }
}

Problem set_problem(std::string key, std::string message, std::string hint) {
  return Problem{kCommandLine, 0, 0, std::move(key), std::move(message), std::move(hint)};
}

// One map, found or made, on the way to the value.
ConfigNode* step_into(ConfigNode* map, const std::string& part) {
  if (ConfigNode* child = child_of(map, part)) {
    if (child->kind == Kind::null) {
      child->kind = Kind::map;
      mark_origin(child);
    }
    return child;
  }
  ConfigNode made;
  made.kind = Kind::map;
  made.file = kCommandLine;
  map->keys.push_back(part);
  map->children.push_back(std::move(made));
  return &map->children.back();
}

}  // namespace

ConfigNode read_with_bases(const std::string& path) {
  std::vector<std::string> chain;
  return read_chain(path, &chain);
}

ConfigNode merged(ConfigNode under, ConfigNode over) {
  if (under.kind != Kind::map || over.kind != Kind::map) return over;
  ConfigNode result = std::move(over);
  std::swap(result.keys, under.keys);
  std::swap(result.children, under.children);
  // result now holds the base's entries, `under` the ones on top.
  for (std::size_t i = 0; i < under.keys.size(); ++i) {
    if (ConfigNode* present = child_of(&result, under.keys[i])) {
      *present = merged(std::move(*present), std::move(under.children[i]));
    } else {
      result.keys.push_back(std::move(under.keys[i]));
      result.children.push_back(std::move(under.children[i]));
    }
  }
  return result;
}

Assignment parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos) {
    throw InputError(
        set_problem("--set " + text, "has no `=`", "write --set workload.concurrency=512"));
  }
  Assignment result;
  result.key = split_key(key);
  for (const std::string& part : result.key) {
    if (part.empty())
      throw InputError(set_problem("--set " + text, "names no key", "write --set key=value"));
  }
  if (key == "base") {
    throw InputError(
        set_problem(key, "cannot be set on the command line", "run the other file instead"));
  }
  if (equals + 1 == text.size()) {
    throw InputError(
        set_problem(key, "no value after `=`", "write --set " + key + "=~ to take the key away"));
  }
  try {
    result.value = parse_yaml(text.substr(equals + 1), kCommandLine);
  } catch (const InputError& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) problem = set_problem(key, problem.message, problem.hint);
    throw InputError(std::move(problems));
  }
  mark_origin(&result.value);
  return result;
}

void apply_assignment(Assignment assignment, ConfigNode* root) {
  ConfigNode* map = root;
  std::string path;
  for (std::size_t i = 0; i + 1 < assignment.key.size(); ++i) {
    path += (i > 0 ? "." : "") + assignment.key[i];
    map = step_into(map, assignment.key[i]);
    if (map->kind != Kind::map) {
      throw InputError(set_problem(path + "." + assignment.key[i + 1],
                                   "`" + path + "` is no map in this scenario",
                                   "set `" + path + "` as a whole"));
    }
  }
  const std::string& last = assignment.key.back();
  if (ConfigNode* present = child_of(map, last)) {
    *present = merged(std::move(*present), std::move(assignment.value));
  } else {
    map->keys.push_back(last);
    map->children.push_back(std::move(assignment.value));
  }
}

void apply_assignments(const std::vector<std::string>& assignments, ConfigNode* root) {
  std::vector<Problem> problems;
  for (const std::string& text : assignments) {
    try {
      apply_assignment(parse_assignment(text), root);
    } catch (const InputError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

std::string path_from(const ConfigNode& node, const std::string& path) {
  if (node.file == kCommandLine || fs::path(path).is_absolute()) return path;
  return (fs::path(node.file).parent_path() / path).string();
}

std::string first_comment(const std::string& text) {
  std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '#') return "";
  start = text.find_first_not_of("# \t", start);
  const std::size_t end = std::min(text.find_first_of("\r\n", start), text.size());
  return start == std::string::npos || start >= end ? "" : text.substr(start, end - start);
}

}  // namespace plateau
